/** Messages that are delivered again because somebody has asked for it. Time is the test's. */
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { readBacklog } from '../../../src/delivery/backlog.ts';
import type { AttemptOutcome } from '../../../src/delivery/http-exchange.ts';
import { HOUR, MINUTE } from '../../support/clock.ts';
import { LAYOUT } from '../../support/database.ts';
import { answer, eventIdOf, openDeliveryFixture } from '../../support/delivery-fixture.ts';

const DAY = 24 * HOUR;
const { clock, service, sql, startWorker, subscribe, deliverToAnother, openMortalDatabase, readQueue } =
  await openDeliveryFixture();
afterAll(() => service.close());

test('a message for two webhooks is delivered again to the one that was asked for, and each shows its own attempts', async () => {
  const one = await subscribe();
  const { webhooks, events } = one;
  const fields = { ownerId: (await one.getWebhook())?.owner?.id ?? '', eventTypes: ['event.created'] };
  const { webhook } = await webhooks.createWebhook({ ...fields, url: 'https://hooks.test/two' });
  const sent: string[] = [];
  const statusOf = (url: string) => (url.endsWith('/two') ? 202 : 204);
  startWorker(({ url }) => {
    sent.push(url);
    return answer(statusOf(url));
  });
  await events.createEvent({ eventId: 'shared' });
  await expect.poll(one.list).toMatchObject([{ status: 'succeeded' }]);
  await expect.poll(() => sent.toSorted()).toEqual(['https://hooks.test', 'https://hooks.test/two']);
  const [{ messageId = '' } = {}] = await one.list();
  const attemptsOf = async (webhookId: string) => {
    const { delivery } = await webhooks.getDelivery({ webhookId, messageId });
    return delivery?.attempts.map(({ statusCode }) => statusCode);
  };
  const two = webhook?.webhookId ?? '';
  await expect.poll(() => attemptsOf(one.webhookId)).toEqual([204]);
  await expect.poll(() => attemptsOf(two)).toEqual([202]);

  await webhooks.redeliver({ webhookId: one.webhookId, messageId });
  await expect.poll(() => attemptsOf(one.webhookId)).toEqual([204, 204]);
  await deliverToAnother();
  expect(await attemptsOf(two)).toEqual([202]);
  expect(sent.filter((url) => url.endsWith('/two'))).toHaveLength(1);

  await sql`update webhook_deliveries set status = 'failed' where message_id = ${messageId.replace('msg_', '')}`;
  await webhooks.redeliverFailed({ webhookId: two, since: new Date(clock.read().getTime() - HOUR).toISOString() });
  await expect.poll(() => attemptsOf(two)).toEqual([202, 202]);
  await deliverToAnother();
  expect(await attemptsOf(one.webhookId)).toEqual([204, 204]);
});

test('a redelivery under way does not count as due since 1970', async () => {
  const { webhooks, webhookId } = await subscribe();
  const attempt = Promise.withResolvers<void>();
  const send = vi.fn(async () => {
    await attempt.promise;
    return answer(204);
  });
  startWorker(send);
  await webhooks.sendTestMessage({ webhookId });
  await expect.poll(() => send.mock.calls.length).toBe(1);
  const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 5_000 });
  onTestFinished(() => database.close());
  const backlog = await readBacklog(database.within(performance.now() + 60_000));
  attempt.resolve();
  expect(backlog).toMatchObject({ pending: 1, healthyDueAt: null, failingDueAt: null });
});

test('a message is delivered again for 14 days', async () => {
  const { events, webhooks, webhookId, list } = await subscribe();
  const sent: string[] = [];
  startWorker(
    (request) => {
      const eventId = eventIdOf(request);
      if (eventId === 'old') sent.push(eventId);
      return answer(eventId === 'other' ? 204 : 500);
    },
    { schedule: [0] },
  );
  await events.createEvent({ eventId: 'old' });
  await expect.poll(list).toMatchObject([{ status: 'failed' }]);
  const [{ messageId = '' } = {}] = await list();
  const since = clock.read().toISOString();
  clock.advance(14 * DAY);
  await webhooks.redeliver({ webhookId, messageId });
  await expect.poll(() => sent).toEqual(['old', 'old']);
  await webhooks.redeliverFailed({ webhookId, since });
  await expect.poll(() => sent).toEqual(['old', 'old', 'old']);
  await expect.poll(list).toMatchObject([{ status: 'failed', attemptCount: 3 }]);
  clock.advance(DAY);
  await expect(webhooks.redeliver({ webhookId, messageId })).rejects.toMatchObject({
    rawMessage: 'Delivery not found',
  });
  await expect(webhooks.redeliverFailed({ webhookId, since })).rejects.toMatchObject({
    rawMessage: 'Validation failed',
  });
  await webhooks.redeliverFailed({ webhookId, since: new Date(clock.read().getTime() - 14 * DAY).toISOString() });
  await deliverToAnother();
  await expect.poll(async () => (await readQueue(webhookId)).redeliver_since).toBeNull();
  expect(sent).toEqual(['old', 'old', 'old']);
});

test('a redelivery of one message leaves the state of the others', async () => {
  const { events, list, webhooks, webhookId } = await subscribe();
  startWorker(() => answer(500), { schedule: [0, 0] });
  for (const eventId of ['a', 'b', 'c']) await events.createEvent({ eventId });
  const failed = { status: 'failed', attemptCount: 2 };
  await expect.poll(list).toMatchObject([failed, failed, failed]);
  const [, { messageId = '' } = {}] = await list();
  await webhooks.redeliver({ webhookId, messageId });
  await expect.poll(list).toMatchObject([failed, { ...failed, attemptCount: 4 }, failed]);
});

test('makes failed deliveries, and no others, due again a thousand at a time, and goes on after the process has died', async () => {
  const { webhooks, webhookId } = await subscribe();
  const since = clock.read();
  await sql`
    with message as (
      insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
      select application_id, 'event.created', '{}', ${since}::timestamptz + n / 2 * interval '1 ms', null
      from webhooks, generate_series(1, 3000) n where id = ${webhookId} returning *
    )
    insert into webhook_deliveries (application_id, webhook_id, message_id, status, created_at)
    select application_id, ${webhookId}, id,
      case when row_number() over (order by created_at, id) % 6 = 0 then 'succeeded' else 'failed' end, created_at
    from message`;
  clock.advance(MINUTE);
  await webhooks.redeliverFailed({ webhookId, since: since.toISOString() });
  const countRenewed = async () =>
    (await sql`select from webhook_deliveries where webhook_id = ${webhookId} and is_manual`).length;
  const dead = Promise.withResolvers<AttemptOutcome>();
  const { database, die } = openMortalDatabase();
  startWorker(() => dead.promise, { database });
  await expect.poll(countRenewed).not.toBe(0);
  expect(await countRenewed()).toBe(1_000);
  die();
  dead.resolve(answer(500));
  clock.advance(MINUTE);
  startWorker(() => answer(204));
  await expect.poll(countRenewed).toBe(2_500);
  await expect.poll(async () => (await readQueue(webhookId)).redeliver_since).toBeNull();
});
