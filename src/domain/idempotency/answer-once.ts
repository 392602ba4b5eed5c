/**
 * Makes a change once, however often it is requested with the same key. The change and its answer commit in one
 * transaction. So after a crash or a lost connection, either both are there, and the answer is repeated, or neither is.
 */
import { hash } from 'node:crypto';
import type { Database, Run } from '../../database/pool/database.ts';
import type { TransactionOptions } from '../../database/pool/transaction-pool.ts';
import { idempotencyKeys } from '../../database/schema/operations-schema.ts';
import { p, statement, t } from '../../database/sql/template.ts';
import { ServiceError } from '../core/errors.ts';
import type { RowCipher } from '../crypto/aes-gcm.ts';

/** How long an answer is kept. */
export const ANSWER_HOURS = 24;
const LIFETIME_MS = ANSWER_HOURS * 60 * 60_000;
const DIGEST_LENGTH = 64;

/** `applicationId` is `NO_APPLICATION` for a call with an admin key. */
export interface KeyedRequest extends TransactionOptions {
  /** What the key belongs to: the caller and the operation. */
  readonly scope: string;
  readonly key: string;
  /** The canonical form of the request. */
  readonly content: string;
  readonly now: Date;
}

/**
 * Returns the answer of `change`, or its answer to an earlier request with this key, up to `ANSWER_HOURS` ago. If `change`
 * throws, nothing is kept.
 *
 * @throws ServiceError `Idempotency key used for another request`, `Call with this idempotency key is running`
 */
export async function answerOnce(
  { cipher, database }: { readonly cipher: RowCipher; readonly database: Pick<Database, 'transact'> },
  { scope, key, content, now, ...of }: KeyedRequest,
  change: (run: Run) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const id = hash('sha256', `${scope}\n${key}`, 'hex');
  const digest = hash('sha256', content, 'hex');
  const { applicationId } = of;
  const aad = { applicationId, id };
  return database.transact(of, async (run) => {
    const lock = Buffer.from(id, 'hex').readBigInt64BE().toString();
    const [taken] = await run(takeLock, { lock });
    if (!taken?.isTaken) throw new ServiceError('IDEMPOTENCY_KEY_IN_USE');
    // After the lock: an earlier statement would not see the answer of the call that has just released it.
    const [kept] = await run(selectAnswer, { applicationId, id, now });
    if (kept) return readAnswer(cipher.decrypt(kept.answer, aad), digest);
    const answer = await change(run);
    const sealed = cipher.encrypt(digest + Buffer.from(answer).toString('base64'), aad);
    const expiresAt = new Date(now.getTime() + LIFETIME_MS);
    const [inserted] = await run(insertAnswer, { applicationId, id, answer: sealed, now, expiresAt });
    if (!inserted) throw new ServiceError('IDEMPOTENCY_KEY_IN_USE');
    return answer;
  });
}

function readAnswer(text: string, digest: string): Uint8Array {
  if (text.slice(0, DIGEST_LENGTH) !== digest) throw new ServiceError('IDEMPOTENCY_KEY_REUSED');
  return Buffer.from(text.slice(DIGEST_LENGTH), 'base64');
}

const takeLock = statement('lock_idempotency_key', { isTaken: t.boolean })`
  select pg_try_advisory_xact_lock(${p.bigint('lock')}) as is_taken`;

const selectAnswer = statement('select_idempotent_answer', { answer: idempotencyKeys.answer })`
  select answer from idempotency_keys
  where application_id = ${p.uuid('applicationId')} and id = ${p.text('id')} and expires_at > ${p.instant('now')}`;

/** Replaces an answer that has expired. The key is unique, even if locks are not shared between coordinators. */
const insertAnswer = statement('insert_idempotent_answer', { id: idempotencyKeys.id })`
  insert into idempotency_keys as k (application_id, id, answer, expires_at)
  values (${p.uuid('applicationId')}, ${p.text('id')}, ${p.bytes('answer')}, ${p.instant('expiresAt')})
  on conflict (application_id, id) do update set answer = excluded.answer, expires_at = excluded.expires_at
    where k.expires_at <= ${p.instant('now')}
  returning id`;
