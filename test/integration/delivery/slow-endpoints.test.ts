/** Messages whose endpoint does not answer for a second: their queue does not wait for them. Time is the test's. */
import { setTimeout as sleep } from 'node:timers/promises';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { PlaceholderValues } from '../../../src/database/pool/database.ts';
import type { AttemptRequest } from '../../../src/delivery/attempt.ts';
import type { AttemptOutcome } from '../../../src/delivery/http-exchange.ts';
import { QUEUE_LEASE_MS } from '../../../src/delivery/leases.ts';
import { HOUR, MINUTE, SECOND } from '../../support/clock.ts';
import { answer, openDeliveryFixture, type WorkerOptions } from '../../support/delivery-fixture.ts';

const { clock, service, sql, startWorker, subscribe, openMortalDatabase, readQueue } = await openDeliveryFixture();
afterAll(() => service.close());

/** Starts a worker whose attempts of the event `slow` hang until the test ends them. */
function startHanging(options: WorkerOptions = {}) {
  const sent: string[] = [];
  const hanging: ((outcome: AttemptOutcome) => void)[] = [];
  const send = ({ body }: AttemptRequest) => {
    const { eventId = 'test' } = JSON.parse(body).data;
    // Other tests have left messages, too.
    if (/^(slow|next|other)/.test(eventId)) sent.push(eventId);
    if (!eventId.startsWith('slow')) return answer(204);
    return new Promise<AttemptOutcome>((resolve) => hanging.push(resolve));
  };
  const worker = startWorker(send, options);
  const endAll = (status: number) => {
    for (const resolve of hanging.splice(0)) resolve(answer(status));
  };
  onTestFinished(() => endAll(500));
  const endOne = (status: number) => hanging.shift()?.(answer(status));
  return { ...worker, sent, endAll, endOne };
}

test('a slow message does not delay the next one, and is settled when it answers', async () => {
  const { events, list } = await subscribe();
  const { sent, endAll } = startHanging();
  await events.createEvent({ eventId: 'slow' });
  await expect.poll(() => sent).toEqual(['slow']);
  await events.createEvent({ eventId: 'next' });
  await expect.poll(() => sent).toEqual(['slow', 'next']);
  await expect.poll(list).toMatchObject([
    { status: 'succeeded', attemptCount: 1 },
    { status: 'pending', attemptCount: 0 },
  ]);
  endAll(204);
  const succeeded = { status: 'succeeded', attemptCount: 1, lastStatusCode: 204 };
  await expect.poll(list).toMatchObject([succeeded, succeeded]);
});

test.each([
  ['their queue is released', 'wakeCount', 0],
  ['another one is settled', 'releasedAt', 1],
])('slow messages that are answered while %s are settled', async (_, parameter, before) => {
  const { events, webhookId, list } = await subscribe();
  const first = startHanging();
  await events.createEvent({ eventId: 'next' });
  // From now on a batch has two messages.
  await expect.poll(list).toMatchObject([{ status: 'succeeded' }]);
  await first.stop();
  for (const eventId of ['slow-1', 'slow-2']) await events.createEvent({ eventId });
  const { database, holdBack } = openMortalDatabase();
  const areAnswered = Promise.withResolvers<void>();
  const isHeld = (parameters: PlaceholderValues) =>
    parameters.webhookId === webhookId && parameter in parameters && Array(parameters.results).flat().length > 0;
  const held = holdBack(isHeld, areAnswered.promise);
  const { sent, endAll, endOne } = startHanging({ database });
  await expect.poll(() => sent).toHaveLength(2);
  if (before > 0) {
    // The queue is released after a second.
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    endOne(204);
  }
  await held;
  endAll(204);
  areAnswered.resolve();
  const succeeded = { status: 'succeeded', attemptCount: 1 };
  await expect.poll(list).toMatchObject([succeeded, succeeded, succeeded]);
});

test('a slow message has no next attempt while one is under way, and then that of the schedule', async () => {
  const { events, webhooks, webhookId, list } = await subscribe();
  const { sent, endAll } = startHanging({ schedule: [0, 3_600] });
  await events.createEvent({ eventId: 'slow' });
  await expect.poll(() => sent).toEqual(['slow']);
  const [{ messageId = '' } = {}] = await list();
  const waitsMs = async () => {
    const { delivery } = await webhooks.getDelivery({ webhookId, messageId });
    const instants = [...(await list()), delivery].map((each) => each?.nextAttemptAt);
    return instants.map((instant) => (instant ? timestampMs(instant) - clock.read().getTime() : null));
  };
  await expect.poll(waitsMs).toEqual([null, null]);
  endAll(500);
  await expect.poll(async () => (await waitsMs()).every((ms) => ms !== null && ms >= HOUR)).toBe(true);
});

test('a slow message delays the next one of an ordered webhook', async () => {
  const { events, webhooks, webhookId, list } = await subscribe({ ordered: true });
  const { sent, endAll } = startHanging();
  await events.createEvent({ eventId: 'slow' });
  await expect.poll(() => sent).toEqual(['slow']);
  await events.createEvent({ eventId: 'next' });
  const other = await subscribe();
  await other.events.createEvent({ eventId: 'slow-other' });
  await other.events.createEvent({ eventId: 'other' });
  await expect.poll(() => sent.includes('other')).toBe(true);
  expect(sent).not.toContain('next');
  expect((await readQueue(webhookId)).lease).not.toBeNull();
  await webhooks.updateWebhook({ webhookId, description: 'still ordered' });
  endAll(204);
  await expect.poll(async () => (await list()).map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
});

test('a slow message is sent again by another process when its own has died, and not before its lease ends', async () => {
  const { events, list, webhookId } = await subscribe();
  const { database, die } = openMortalDatabase();
  const dead = startHanging({ database });
  await events.createEvent({ eventId: 'slow' });
  await expect.poll(() => dead.sent).toHaveLength(1);
  await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
  die();
  const { sent, endAll } = startHanging();
  await events.createEvent({ eventId: 'next' });
  clock.advance(QUEUE_LEASE_MS - SECOND);
  await expect.poll(() => sent).toEqual(['next']);
  await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
  clock.advance(SECOND);
  await expect.poll(() => sent).toEqual(['next', 'slow']);
  dead.endAll(500);
  endAll(204);
  const succeeded = { status: 'succeeded', attemptCount: 1 };
  await expect.poll(list).toMatchObject([succeeded, succeeded]);
});

test('a slow message is not sent by another process while its lease is extended', async () => {
  const { events, list, webhookId, webhooks } = await subscribe();
  const { sent, endAll } = startHanging();
  await events.createEvent({ eventId: 'slow' });
  await expect.poll(() => sent).toEqual(['slow']);
  await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
  const leaseEnd = async () =>
    (await sql`select due_at from webhook_deliveries where webhook_id = ${webhookId}`)[0]?.due_at;
  const before = await leaseEnd();
  clock.advance(QUEUE_LEASE_MS - SECOND);
  await expect.poll(async () => (await leaseEnd()) > before).toBe(true);
  // The queue is not claimed in vain.
  expect((await readQueue(webhookId)).next_at).toEqual(await leaseEnd());
  clock.advance(2 * SECOND);
  const [{ messageId = '' } = {}] = await list();
  expect((await webhooks.getDelivery({ webhookId, messageId })).delivery).not.toHaveProperty(
    'nextAttemptAt',
    expect.anything(),
  );
  const second = startHanging();
  await events.createEvent({ eventId: 'next' });
  await expect.poll(async () => (await list())[0]).toMatchObject({ status: 'succeeded' });
  endAll(202);
  await expect.poll(list).toMatchObject([{}, { status: 'succeeded', attemptCount: 1, lastStatusCode: 202 }]);
  expect([...sent, ...second.sent].toSorted()).toEqual(['next', 'slow']);
});

test('a slow message is settled by whoever sends it after its lease has ended, and the late answer changes nothing', async () => {
  const { events, list, webhookId } = await subscribe();
  const late = startHanging();
  await events.createEvent({ eventId: 'slow' });
  await expect.poll(() => late.sent).toHaveLength(1);
  await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
  clock.advance(QUEUE_LEASE_MS);
  late.endAll(500);
  await late.stop();
  expect(await list()).toMatchObject([{ status: 'pending', attemptCount: 0 }]);
  startWorker(() => answer(204));
  await expect.poll(list).toMatchObject([{ status: 'succeeded', attemptCount: 1 }]);
});

test('a slow message is tried again by its schedule, and its endpoint is left alone unless another message has arrived', async () => {
  const { events, list, webhookId } = await subscribe();
  const { sent, endAll } = startHanging({ schedule: [0, 60, 60] });
  const released = () => expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
  for (const eventId of ['slow-1', 'slow-2']) {
    await events.createEvent({ eventId });
    await expect.poll(() => sent).toContain(eventId);
  }
  await released();
  endAll(500);
  const failed = { status: 'pending', attemptCount: 1, lastStatusCode: 500 };
  await expect.poll(list).toMatchObject([failed, failed]);
  expect(await readQueue(webhookId)).toMatchObject({ failed_batches: 1, failing_since: expect.any(Date) });

  clock.advance(2 * MINUTE);
  await expect.poll(() => sent).toHaveLength(3);
  endAll(204);
  await expect.poll(() => sent).toHaveLength(4);
  await released();
  await events.createEvent({ eventId: 'next' });
  await expect.poll(() => sent).toContain('next');
  await expect.poll(async () => (await list())[0]).toMatchObject({ status: 'succeeded' });
  endAll(500);
  const attemptsOf = async () => (await list()).map(({ attemptCount }) => attemptCount).sort();
  await expect.poll(attemptsOf).toEqual([1, 2, 2]);
  expect(await readQueue(webhookId)).toMatchObject({ failed_batches: 0, failing_since: null });
});

test('messages that are refused slowly delay no other', async () => {
  const { events, list, webhookId } = await subscribe();
  const { sent, endAll } = startHanging({ schedule: [0, 3_600, 3_600] });
  await events.createEvent({ eventId: 'slow' });
  await expect.poll(() => sent).toHaveLength(1);
  await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
  endAll(400);
  await expect.poll(list).toMatchObject([{ status: 'pending', attemptCount: 1, lastStatusCode: 400 }]);
  expect(await readQueue(webhookId)).toMatchObject({ failed_batches: 0, failing_since: expect.any(Date) });
  await events.createEvent({ eventId: 'next' });
  await expect.poll(() => sent).toEqual(['slow', 'next']);
});

test('endpoints of one application that were quick and then hang keep no message of another waiting', async () => {
  // As many as would take the quick slots and the slow attempts.
  const concurrency = 8;
  const { tenant, addWebhook, webhookId } = await subscribe();
  const ids = [webhookId];
  while (ids.length < 10) ids.push(await addWebhook());
  await sql`
    insert into webhook_messages (application_id, type, payload, created_at)
    select ${tenant.id}, 'event.created', '{"data":{"eventId":"slow"}}', now() from generate_series(1, 10)`;
  await sql`
    insert into webhook_queues (application_id, webhook_id, next_at, wake_count, batch_size, is_quick)
    select ${tenant.id}, unnest(${ids}::text[]), now(), 1, 32, true
    on conflict (application_id, webhook_id) do update set batch_size = 32, is_quick = true`;
  const known = await subscribe();
  const { sent } = startHanging({ concurrency });
  await known.events.createEvent({ eventId: 'other-known' });
  await expect.poll(known.list).toMatchObject([{ status: 'succeeded' }]);
  // Quick attempts become slow after a second, and others follow.
  const countHanging = () => sent.filter((eventId) => eventId === 'slow').length;
  const isStill = async () => {
    const before = countHanging();
    await sleep(1_500);
    return before > concurrency && countHanging() === before;
  };
  await expect.poll(isStill).toBe(true);

  await known.events.createEvent({ eventId: 'other' });
  await expect.poll(known.list, { timeout: 20_000 }).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
  const first = await subscribe();
  await first.events.createEvent({ eventId: 'other-first' });
  await expect.poll(first.list, { timeout: 20_000 }).toMatchObject([{ status: 'succeeded' }]);
  expect(countHanging()).toBeLessThanOrEqual(2 * concurrency);
});
