/** Which of several processes sends a message, and which settles it. Time is the test's. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test, vi } from 'vitest';
import type { AttemptRequest } from '../../../src/delivery/attempt.ts';
import type { AttemptOutcome } from '../../../src/delivery/http-exchange.ts';
import { QUEUE_LEASE_MS } from '../../../src/delivery/leases.ts';
import { SECOND } from '../../support/clock.ts';
import { answer, openDeliveryFixture } from '../../support/delivery-fixture.ts';

const { clock, service, startWorker, subscribe, openMortalDatabase, readQueue } = await openDeliveryFixture();
afterAll(() => service.close());

test('one of two processes sends a message that both look for', async () => {
  const { events, list } = await subscribe();
  const sent: string[] = [];
  const send = async ({ body }: AttemptRequest) => {
    sent.push(JSON.parse(body).data.eventId);
    await sleep(900);
    return answer(204);
  };
  for (let process = 0; process < 2; process++) startWorker(send);
  const eventIds = ['a', 'b', 'c'];
  for (const eventId of eventIds) await events.createEvent({ eventId });
  await expect.poll(list).toMatchObject(eventIds.map(() => ({ status: 'succeeded' })));
  expect(sent.toSorted()).toEqual(eventIds);
});

test('a process that takes over an expired lease settles, and the late one changes nothing', async () => {
  const { events, list, webhookId } = await subscribe({ ordered: true });
  await events.createEvent({ eventId: 'e' });
  const late = Promise.withResolvers<AttemptOutcome>();
  const send = vi.fn(() => late.promise);
  const { database, failWhen } = openMortalDatabase();
  failWhen((parameters) => 'leases' in parameters);
  const stalled = startWorker(send, { database });
  await expect.poll(() => send).toHaveBeenCalled();
  const { lease } = await readQueue(webhookId);
  const idle = Promise.withResolvers<AttemptOutcome>();
  const second = startWorker(() => idle.promise);
  clock.advance(QUEUE_LEASE_MS - SECOND);
  expect((await readQueue(webhookId)).lease).toBe(lease);
  clock.advance(SECOND);
  await expect.poll(async () => (await readQueue(webhookId)).lease).not.toBe(lease);
  const { lease: newer } = await readQueue(webhookId);
  late.resolve(answer(500));
  await stalled.stop();
  expect((await readQueue(webhookId)).lease).toBe(newer);
  expect(await list()).toMatchObject([{ status: 'pending', attemptCount: 0 }]);
  idle.resolve(answer(204));
  await expect.poll(list).toMatchObject([{ status: 'succeeded', attemptCount: 1 }]);
  await second.stop();
});

test('a lease is extended as long as an attempt lasts, so that no other process begins one', async () => {
  const { events, list, webhookId } = await subscribe({ ordered: true });
  await events.createEvent({ eventId: 'held' });
  const hanging = Promise.withResolvers<AttemptOutcome>();
  const sent: string[] = [];
  const send = ({ body }: AttemptRequest) => {
    const { eventId } = JSON.parse(body).data;
    if (eventId !== 'held') return answer(204);
    sent.push(eventId);
    return hanging.promise;
  };
  startWorker(send);
  await expect.poll(() => sent).toEqual(['held']);
  const { lease, next_at } = await readQueue(webhookId);
  const begunAt = clock.read();
  clock.advance(QUEUE_LEASE_MS - SECOND);
  await expect.poll(async () => (await readQueue(webhookId)).next_at > next_at).toBe(true);
  expect((await readQueue(webhookId)).next_at.getTime()).toBe(clock.read().getTime() + QUEUE_LEASE_MS);
  clock.advance(2 * SECOND);
  expect(clock.read().getTime()).toBeGreaterThan(begunAt.getTime() + QUEUE_LEASE_MS);
  startWorker(send);
  const other = await subscribe();
  await other.events.createEvent({ eventId: 'other' });
  await expect.poll(other.list).toMatchObject([{ status: 'succeeded' }]);
  expect(await readQueue(webhookId)).toMatchObject({ lease });
  expect(sent).toEqual(['held']);
  hanging.resolve(answer(202));
  await expect.poll(list).toMatchObject([{ status: 'succeeded', attemptCount: 1, lastStatusCode: 202 }]);
});
