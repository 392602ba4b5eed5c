/** How many messages a quick endpoint gets at a time. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { answer, openDeliveryFixture } from '../../support/delivery-fixture.ts';

const { service, sql, startWorker, subscribe, readQueue } = await openDeliveryFixture();
afterAll(() => service.close());

test('batches begin with one message, double while they succeed, and have at most 32', async () => {
  const { tenant, webhookId } = await subscribe();
  // Enough for 1, 2, 4, 8 and 16, and for two batches of 32.
  await sql`
    insert into webhook_messages (application_id, type, payload, created_at)
    select ${tenant.id}, 'event.created', '{"data":{"eventId":"one of many"}}', now() from generate_series(1, 200)`;
  const batches: number[] = [];
  let inFlight = 0;
  let sent = 0;
  startWorker(
    async () => {
      if (inFlight++ === 0) batches.push(0);
      batches[batches.length - 1] = (batches.at(-1) ?? 0) + 1;
      // The whole batch has begun then.
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      inFlight--;
      sent++;
      return answer(204);
    },
    { concurrency: 200 },
  );
  await expect.poll(() => sent, { timeout: 60_000 }).toBe(200);
  expect(batches[0]).toBe(1);
  expect(Math.max(...batches)).toBe(32);
  for (const [at, size] of batches.slice(1).entries()) expect(size).toBeLessThanOrEqual(2 * (batches[at] ?? 0));
  await expect.poll(async () => (await readQueue(webhookId)).batch_size).toBe(32);
});
