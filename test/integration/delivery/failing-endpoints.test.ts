/** Endpoints that fail: when their webhook becomes inactive, and what is sent meanwhile. Time is the test's. */
import { afterAll, describe, expect, test, vi } from 'vitest';
import type { AttemptRequest } from '../../../src/delivery/attempt.ts';
import { HOUR, MINUTE, SECOND } from '../../support/clock.ts';
import { answer, eventIdOf, openDeliveryFixture } from '../../support/delivery-fixture.ts';
import { adminClient } from '../../support/service.ts';

const DAY = 24 * HOUR;
const { clock, service, sql, startWorker, subscribe, deliverToAnother, openMortalDatabase, readQueue } =
  await openDeliveryFixture();
afterAll(() => service.close());

describe('an endpoint that only fails', () => {
  test('makes its webhook inactive after five days, which the audit log shows', async () => {
    const { tenant, events, webhookId, getWebhook } = await subscribe();
    startWorker(() => answer(500), { schedule: [0, 0, ...Array(9).fill(14 * 3_600)] });
    await events.createEvent({ eventId: 'e' });
    const attempts = async () => (await sql`select from webhook_attempts where webhook_id = ${webhookId}`).length;
    await expect.poll(attempts).toBe(2);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    clock.advance(5 * DAY - SECOND);
    await expect.poll(attempts).toBe(3);
    expect(await getWebhook()).toMatchObject({ isActive: true });
    clock.advance(16 * HOUR);
    await expect
      .poll(getWebhook)
      .toMatchObject({ isActive: false, disabledReason: 'Every delivery failed for 5 days' });
    const { auditEvents } = await adminClient(service).listAuditEvents({ applicationId: tenant.id, pageSize: 1 });
    expect(auditEvents).toMatchObject([{ actorType: 'usher', action: 'DisableWebhook', resource: webhookId }]);
  });

  describe('stays active while messages wait', () => {
    /** Starts a worker until so many batches have failed. */
    const fail = async (webhookId: string, batches: number) => {
      const { stop } = startWorker(() => answer(500), { schedule: [0, (6 * DAY) / SECOND, 0] });
      await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(batches);
      await stop();
    };

    test('for six days, since no process delivers', async () => {
      const { events, webhookId, getWebhook } = await subscribe();
      await events.createEvent({ eventId: 'e' });
      clock.advance(6 * DAY);
      await fail(webhookId, 1);
      expect(await getWebhook()).toMatchObject({ isActive: true });
    });

    test('behind a failed one, even if tests fail, until an attempt of the schedule fails after five days', async () => {
      const { events, webhooks, webhookId, getWebhook } = await subscribe({ ordered: true });
      for (const eventId of ['first', 'waiting']) await events.createEvent({ eventId });
      await fail(webhookId, 1);
      clock.advance(5.5 * DAY);
      await webhooks.sendTestMessage({ webhookId });
      await fail(webhookId, 2);
      expect(await getWebhook()).toMatchObject({ isActive: true });
      clock.advance(1.5 * DAY);
      await fail(webhookId, 3);
      expect(await getWebhook()).toMatchObject({ isActive: false });
    });
  });

  test.each([
    ['a success in between', 'event.created', 200],
    ['failures of tests and redeliveries alone', 'webhook.test', 500],
  ])('stays active after %s', async (_, type, statusCode) => {
    const { events, webhooks, webhookId, getWebhook } = await subscribe();
    let status = statusCode;
    startWorker(() => answer(status), { schedule: [0] });
    const send = () =>
      type === 'webhook.test' ? webhooks.sendTestMessage({ webhookId }) : events.createEvent({ eventId: `${status}` });
    const attempted = (count: number) =>
      expect.poll(async () => sql`select from webhook_attempts where webhook_id = ${webhookId}`).toHaveLength(count);
    if (type === 'event.created') {
      await sql`insert into webhook_queues (application_id, webhook_id, failing_since)
        select application_id, id, ${new Date(clock.read().getTime() - 4 * DAY)} from webhooks where id = ${webhookId}`;
    }
    await send();
    await attempted(1);
    status = 500;
    clock.advance(5 * DAY);
    await send();
    await attempted(2);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    expect(await getWebhook()).toMatchObject({ isActive: true });
  });

  test('stays active when its process is suspended for six days before it has stored the first failure', async () => {
    const { events, getWebhook, list } = await subscribe();
    const { database, holdBack } = openMortalDatabase();
    const resumed = Promise.withResolvers<void>();
    const suspended = holdBack((parameters) => 'attempts' in parameters, resumed.promise);
    const { stop } = startWorker(() => answer(500), { schedule: [0], database });
    await events.createEvent({ eventId: 'e' });
    await suspended;
    await expect.poll(list).toMatchObject([{ status: 'failed' }]);
    clock.advance(6 * DAY);
    resumed.resolve();
    await stop();
    expect(await getWebhook()).toMatchObject({ isActive: true });
  });

  test.each([
    ['unordered', false],
    ['ordered', true],
  ])('gets a test message or a redelivery at once, before its backlog, if it is %s', async (_, ordered) => {
    const { events, webhooks, webhookId } = await subscribe({ ordered });
    const sent: (string | undefined)[] = [];
    const send = ({ headers }: AttemptRequest) => {
      sent.push(headers['webhook-id']);
      return answer(500);
    };
    for (let count = 0; count < 5; count++) await events.createEvent({ eventId: `e-${count}` });
    startWorker(send, { schedule: [0, 3_600, 3_600] });
    await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(1);
    const before = sent.length;
    const { messageId } = await webhooks.sendTestMessage({ webhookId });
    await expect.poll(() => sent.slice(before)).toEqual([messageId]);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    const first = sent[0] ?? '';
    await webhooks.redeliver({ webhookId, messageId: first });
    await expect.poll(() => sent.slice(before)).toEqual([messageId, first]);
  });
});

describe('behind messages that the endpoint refuses', () => {
  /** Subscribes, and refuses events whose ID begins with `bad`. Webhooks of other tests have messages, too. */
  const refuse = async (status: number, options?: { ordered: boolean }) => {
    const subscriber = await subscribe(options);
    const tag = `.${subscriber.webhookId}`;
    const sent: string[] = [];
    const send = (request: AttemptRequest) => {
      const eventId = eventIdOf(request);
      if (eventId.endsWith(tag)) sent.push(eventId.replace(tag, ''));
      return answer(eventId.startsWith('bad') ? status : 204);
    };
    const create = (name: string) => subscriber.events.createEvent({ eventId: name + tag });
    return { ...subscriber, sent, send, create };
  };

  test.each([302, 400, 401, 403, 404, 408, 409, 413, 422])('with %i, others arrive at once', async (status) => {
    const { list, webhookId, sent, send, create } = await refuse(status);
    for (let count = 0; count < 20; count++) await create(`bad-${count}`);
    await create('good');
    startWorker(send, { schedule: [0, 3_600, 3_600] });
    await expect.poll(async () => (await list())[0]).toMatchObject({ status: 'succeeded', attemptCount: 1 });
    await expect.poll(() => sent).toHaveLength(21);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    await create('later');
    await expect.poll(() => sent).toContain('later');
    await expect.poll(async () => (await list()).filter((row) => row.status === 'succeeded')).toHaveLength(2);
    // Each refused message has been sent once, and waits for its next attempt.
    expect(sent.toSorted()).toEqual(['good', 'later', ...Array.from({ length: 20 }, (_, i) => `bad-${i}`)].toSorted());
    expect((await list()).filter(({ status: state }) => state === 'pending')).toHaveLength(20);
  });

  test.each([429, 500, 503])('with %i, others wait, because it fails', async (status) => {
    const { webhookId, sent, send, create } = await refuse(status);
    for (const name of ['bad', 'good']) await create(name);
    const { stop } = startWorker(send, { schedule: [0, 3_600, 3_600] });
    await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(1);
    await deliverToAnother();
    await stop();
    expect(sent).toEqual(['bad']);
  });

  test('others wait if the webhook is ordered', async () => {
    const { webhookId, sent, send, create } = await refuse(400, { ordered: true });
    for (const name of ['bad', 'good']) await create(name);
    startWorker(send, { schedule: [0, 3_600] });
    await expect.poll(() => sent).toEqual(['bad']);
    await deliverToAnother();
    expect(sent).toEqual(['bad']);
    clock.advance(2 * HOUR);
    await expect.poll(() => sent).toEqual(['bad', 'bad', 'good']);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    expect(await readQueue(webhookId)).toMatchObject({ failed_batches: 0 });
  });

  test('an endpoint that has failed works again', async () => {
    const { list, webhookId, send, create } = await refuse(400);
    await create('bad');
    const { stop } = startWorker(() => answer(500), { schedule: [0, 60, 3_600] });
    await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(1);
    await stop();
    await create('good');
    clock.advance(2 * MINUTE);
    startWorker(send, { schedule: [0, 60, 3_600] });
    await expect.poll(list).toMatchObject([{ status: 'succeeded' }, { status: 'pending', attemptCount: 2 }]);
  });

  test('the webhook becomes inactive after five days without a success', async () => {
    const { events, getWebhook, webhookId } = await subscribe();
    startWorker(() => answer(400), { schedule: [0, (5 * DAY) / SECOND] });
    await events.createEvent({ eventId: 'bad' });
    await expect.poll(async () => (await readQueue(webhookId)).failing_since).toBeInstanceOf(Date);
    clock.advance(6 * DAY);
    await expect
      .poll(getWebhook)
      .toMatchObject({ isActive: false, disabledReason: 'Every delivery failed for 5 days' });
  });
});

test('a message of a webhook that is made inactive meanwhile waits until it is active again', async () => {
  const { events, webhooks, webhookId } = await subscribe();
  await events.createEvent({ eventId: 'e' });
  const send = vi.fn(() => answer(204));
  const { stop } = startWorker(() => answer(500), { schedule: [0, 60] });
  await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(1);
  await stop();
  await webhooks.updateWebhook({ webhookId, isActive: false });
  clock.advance(2 * MINUTE);
  startWorker(send);
  const other = await subscribe();
  await other.events.createEvent({ eventId: 'e' });
  await expect.poll(() => send).toHaveBeenCalledTimes(1);
  await expect.poll(async () => (await readQueue(webhookId)).next_at).toBeNull();
  expect(send).toHaveBeenCalledTimes(1);
  await webhooks.updateWebhook({ webhookId, isActive: true });
  await expect.poll(() => send).toHaveBeenCalledTimes(2);
});
