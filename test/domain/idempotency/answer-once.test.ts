/** What calls see of a key whose lock is not shared. With real locks: test/integration/contract/idempotency-keys.test.ts. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Run } from '../../../src/database/pool/database.ts';
import { RowCipher } from '../../../src/domain/crypto/aes-gcm.ts';
import { answerOnce } from '../../../src/domain/idempotency/answer-once.ts';

test.each([
  ['stored', true],
  ['refused, because another call has stored one meanwhile', false],
])('an answer is %s', async (_, isInserted) => {
  const answers: Readonly<Record<string, readonly unknown[]>> = {
    lockIdempotencyKey: [{ isTaken: true }],
    selectIdempotentAnswer: [],
    insertIdempotentAnswer: isInserted ? [{ id: 'key' }] : [],
  };
  const run = (async ({ name }) => answers[name]) as Run;
  const database = { transact: (_of: unknown, work: (run: Run) => unknown) => work(run) };
  const request = { applicationId: randomUUID(), scope: 's', key: 'k', content: 'c', now: new Date(), deadline: 0 };
  const answer = Buffer.from('answer');
  const parts = { cipher: new RowCipher([Buffer.alloc(32)]), database };
  const answered = answerOnce(parts as never, request as never, async () => answer);
  if (isInserted) expect(await answered).toBe(answer);
  else await expect(answered).rejects.toMatchObject({ reason: 'IDEMPOTENCY_KEY_IN_USE' });
});
