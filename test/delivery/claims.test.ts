import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { Database, Run } from '../../src/database/database.ts';
import { claimQueue, selectDueQueues } from '../../src/delivery/queue.ts';
import { DeliveryWorker } from '../../src/delivery/worker.ts';
import { SigningKeyCipher } from '../../src/domain/webhooks/signing-key-cipher.ts';
import { createLogger } from '../../src/log.ts';

test('a queue whose claim is under way is not claimed once more', async () => {
  const queue = { applicationId: 'a', webhookId: 'wh_1', batchSize: 1, line: 'quick' };
  const claim = Promise.withResolvers<void>();
  let isClaimed = false;
  const search = vi.fn(() => (isClaimed ? [] : [queue]));
  const startClaim = vi.fn(() => claim.promise.then(() => []));
  const answers = new Map<unknown, () => unknown>([
    [selectDueQueues, search],
    [claimQueue, startClaim],
  ]);
  const run = (async (statement: unknown) => answers.get(statement)?.() ?? []) as unknown as Run;
  const worker = new DeliveryWorker({
    cipher: new SigningKeyCipher([Buffer.alloc(32)]),
    clock: () => new Date(),
    database: { within: () => run } as unknown as Database,
    logger: createLogger('silent'),
    sender: { send: () => Promise.reject(new Error('Nothing is sent')) },
    schedule: [0],
    attemptTimeoutMs: 1_000,
    userAgent: 'test',
    concurrency: 8,
  });
  for (let wake = 1; wake <= 3; wake++) {
    worker.wake('a');
    while (search.mock.calls.length < wake) await turn();
    for (let turns = 0; turns < 20; turns++) await turn();
  }
  expect(startClaim).toHaveBeenCalledTimes(1);
  isClaimed = true;
  claim.resolve();
});
