/** Which requests with a key get an earlier answer, a row each. What callers see: test/integration/contract/idempotency-keys.test.ts. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { answerOnce, type KeyedRequest } from '../../../../src/domain/idempotency/answer-once.ts';
import { at, DAY, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, database, createApplication } = await openDomain();
const parts = { cipher: new RowCipher([randomBytes(32)]), database };

type Change = () => PromiseLike<unknown>;
const begin = async () => ({ applicationId: await createApplication(), scope: 'scope', key: randomUUID() });

/** Returns the answer, which is the given one if the change is made. */
const ask = (given: string, request: Partial<KeyedRequest>, change: Change = async () => undefined) =>
  answerOnce(
    parts,
    { content: 'content', now: NOW, deadline: performance.now() + 60_000, ...request } as KeyedRequest,
    async () => {
      await change();
      return Buffer.from(given);
    },
  ).then(
    (bytes) => Buffer.from(bytes).toString(),
    (error) => error.reason,
  );

test.each<[string, other: () => Promise<Partial<KeyedRequest>>, answer: string]>([
  ['the same request has the first answer', async () => ({}), 'first'],
  ['another one is refused', async () => ({ content: 'other' }), 'IDEMPOTENCY_KEY_REUSED'],
  ['another key has an answer of its own', async () => ({ key: randomUUID() }), 'second'],
  ['another caller, too', async () => ({ scope: 'other' }), 'second'],
  ['another application, too', async () => ({ applicationId: await createApplication() }), 'second'],
  ['the first answer is kept for 24 hours', async () => ({ now: at(DAY - 1) }), 'first'],
  ['and no longer', async () => ({ now: at(DAY) }), 'second'],
])('%s', async (_, other, answer) => {
  const request = await begin();
  expect(await ask('first', request)).toBe('first');
  const next = { ...request, ...(await other()) };
  expect(await ask('second', next)).toBe(answer);
  // Which is kept as long from then on, whatever it has replaced.
  if (answer === 'second')
    expect(await ask('third', { ...next, now: at(2 * DAY - 1) })).toBe(next.now ? 'second' : 'third');
});

test('a key is refused while its call is running, or if another one has been faster', async () => {
  const request = await begin();
  const reasons: string[] = [];
  await ask('first', request, async () => reasons.push(await ask('second', request)));
  expect(reasons).toEqual(['IDEMPOTENCY_KEY_IN_USE']);
  const raced = await begin();
  const id = hash('sha256', `${raced.scope}\n${raced.key}`, 'hex');
  const store = () => sql`
    insert into idempotency_keys ${sql({ application_id: raced.applicationId, id, answer: randomBytes(40), expires_at: at(1) })}`;
  expect(await ask('first', raced, store)).toBe('IDEMPOTENCY_KEY_IN_USE');
});
