import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test, vi } from 'vitest';
import type { AttemptRequest } from '../../../src/delivery/attempt.ts';
import type { AttemptOutcome } from '../../../src/delivery/http-exchange.ts';
import { answer, openDeliveryFixture } from '../../support/delivery-fixture.ts';

const { service, sql, startWorker, subscribe, openMortalDatabase } = await openDeliveryFixture();
afterAll(() => service.close());

test('no transaction is open while an attempt is made', async () => {
  const { tenant, events, webhookId } = await subscribe();
  const held = Promise.withResolvers<AttemptOutcome>();
  const send = vi.fn(() => held.promise);
  startWorker(send);
  await events.createEvent({ eventId: 'e' });
  await expect.poll(() => send).toHaveBeenCalled();
  const open = () => sql`
    select from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`;
  await expect.poll(open).toHaveLength(0);
  await sql`
    select from webhook_queues where application_id = ${tenant.id} and webhook_id = ${webhookId} for update nowait`;
  held.resolve(answer(204));
});

test('a delivery is settled once even if its attempt cannot be logged', async () => {
  const { events, list } = await subscribe();
  const { database, failWhen } = openMortalDatabase();
  failWhen((parameters) => 'attempts' in parameters);
  const send = vi.fn(() => answer(204));
  startWorker(send, { database });
  await events.createEvent({ eventId: 'e' });
  await expect.poll(list).toMatchObject([{ status: 'succeeded', attemptCount: 1 }]);
  expect(send).toHaveBeenCalledTimes(1);
});

test('a shutdown ends attempts in time, also while a statement hangs', async () => {
  const { events, list } = await subscribe();
  const { database, holdBack } = openMortalDatabase();
  const ended = Promise.withResolvers<void>();
  const send = vi.fn((_: AttemptRequest, signal?: AbortSignal) => {
    const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
    signal?.addEventListener('abort', () => {
      resolve({ ...answer(500), statusCode: null });
      ended.resolve();
    });
    return promise;
  });
  const { stop } = startWorker(send, { database, shutdownTimeoutMs: 100 });
  await events.createEvent({ eventId: 'e' });
  await expect.poll(() => send).toHaveBeenCalled();
  const answered = Promise.withResolvers<void>();
  await holdBack((parameters) => 'after' in parameters, answered.promise);
  const first = Promise.race([ended.promise.then(() => 'the attempt'), sleep(60_000, 'the statement', { ref: false })]);
  first.then(() => answered.resolve());
  await stop();
  expect(await first).toBe('the attempt');
  expect(await list()).toMatchObject([{ status: 'pending', attemptCount: 0 }]);
});
