import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { PlaceholderValues, Run } from '../../../src/database/pool/database.ts';
import { claimQueue, selectDueQueues } from '../../../src/delivery/queue.ts';
import { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { RowCipher } from '../../../src/domain/crypto/aes-gcm.ts';
import { createLogger } from '../../../src/log.ts';

test('a queue whose claim is under way is not claimed once more', async () => {
  const queue = { applicationId: 'a', webhookId: 'wh_1', batchSize: 1, kind: 'quick' };
  const claim = Promise.withResolvers<void>();
  let isClaimed = false;
  const search = vi.fn(() => (isClaimed ? [] : [queue]));
  const startClaim = vi.fn(() => claim.promise.then(() => []));
  const answers = new Map<unknown, () => unknown[] | Promise<unknown[]>>([
    [selectDueQueues, search],
    [claimQueue, startClaim],
  ]);
  const worker = createWorker(async (statement) => answers.get(statement)?.() ?? []);
  for (let wake = 1; wake <= 3; wake++) {
    worker.wake('a');
    while (search.mock.calls.length < wake) await turn();
    for (let turns = 0; turns < 20; turns++) await turn();
  }
  expect(startClaim).toHaveBeenCalledTimes(1);
  isClaimed = true;
  claim.resolve();
});

test('an application with many due queues leaves turns to another', async () => {
  const search = ({ quickWaiting: waiting }: PlaceholderValues) => {
    const isCrowdOut = Array.isArray(waiting) && waiting.includes('crowd');
    const crowd = Array.from({ length: 100 }, (_, number) => ({ applicationId: 'crowd', webhookId: `wh_${number}` }));
    const queues = [...(isCrowdOut ? [] : crowd), { applicationId: 'victim', webhookId: 'wh_v' }].slice(0, 8);
    return queues.map((queue) => ({ ...queue, batchSize: 1, kind: 'quick' }));
  };
  const claimed: unknown[] = [];
  const worker = createWorker(async (statement, parameters) => {
    if (statement === selectDueQueues) return search(parameters);
    if (statement !== claimQueue) return [];
    claimed.push(parameters.applicationId);
    // The claims never end.
    return new Promise(() => {});
  });
  worker.wake('crowd');
  for (let turns = 0; turns < 100 && !claimed.includes('victim'); turns++) await turn();
  expect(claimed).toContain('victim');
  expect(claimed.length).toBeLessThan(8);
});

test('applications with many messages let one with a few go first', async () => {
  const many = Array.from({ length: 20 }, (_, number) => `many-${number}`);
  const turns: string[] = [];
  let isOver = false;
  const worker = createWorker(async (_, { applicationId }) => {
    await turn();
    if (typeof applicationId !== 'string') return [];
    turns.push(applicationId);
    return [{ messages: applicationId.startsWith('many') && !isOver ? 200 : 0, deliveries: 0 }];
  });
  for (const applicationId of many) worker.wake(applicationId);
  while (turns.length < 100) await turn();
  // They take turns, too.
  expect(new Set(turns.slice(-20)).size).toBe(20);
  const before = turns.length;
  worker.wake('few');
  for (const applicationId of many) worker.wake(applicationId);
  while (!turns.includes('few')) await turn();
  expect(turns.indexOf('few') - before).toBeLessThanOrEqual(2);
  isOver = true;
});

/** Returns a worker whose statements are answered by the test. */
function createWorker(run: (statement: unknown, parameters: PlaceholderValues) => Promise<unknown[]>): DeliveryWorker {
  return new DeliveryWorker({
    cipher: new RowCipher([Buffer.alloc(32)]),
    clock: () => new Date(),
    logger: createLogger('silent'),
    outcomes: { pending: 0, succeeded: 0, failed: 0 },
    run: run as unknown as Run,
    sender: { send: () => Promise.reject(new Error('Nothing is sent')) },
    schedule: [0],
    userAgent: 'test',
    concurrency: 8,
  });
}
