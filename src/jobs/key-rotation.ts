/** Rotation of the keys that the signing keys of webhooks are encrypted with. */
import { and, between, eq, gt, sql } from 'drizzle-orm';
import type { Database, Run, Statement } from '../database/database.ts';
import { encryptionKeyIdOf, webhooks } from '../database/schema.ts';
import { pause } from '../domain/pause.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';

const INTERVAL_MS = 3_000;
const INTERVAL_AFTER_FAILURE_MS = 60_000;
const BATCH_SIZE = 200;
const PAUSE_MS = 100;
const BATCH_TIMEOUT_MS = 5_000;

/** The IDs, in hex, of the keys that some webhook needs. A step of an index for each, whatever the table's size. */
export async function readUsedKeyIds(run: Run): Promise<ReadonlySet<string>> {
  const keyIds = new Set<string>();
  for (let after: Buffer = Buffer.alloc(0); ; ) {
    const [next] = await run(selectNextKeyId, { after });
    if (!next) return keyIds;
    keyIds.add(next.keyId.toString('hex'));
    after = next.keyId;
  }
}

/** Throws an Error of one line where a webhook needs a key that the cipher does not have. */
export function requireKeys({ keyIds }: SigningKeyCipher, usedKeyIds: ReadonlySet<string>): void {
  const missing = [...usedKeyIds].filter((keyId) => !keyIds.includes(keyId));
  if (missing.length === 0) return;
  throw new Error(
    `The encryption keys do not fit the database: webhooks need the key with ID ${missing.join(' and ')}, ` +
      `and there is ${keyIds.join(' and ')}`,
  );
}

/**
 * Encrypts with the first key what the others have encrypted, until the signal is aborted. Any number
 * of replicas may do so at once. Only keys that were in use at the start are retired: a key that comes
 * into use later is a new one, which replicas with newer settings have put first.
 */
export async function runKeyRotation(
  database: Database,
  cipher: SigningKeyCipher,
  usedAtStart: ReadonlySet<string>,
  {
    signal,
    tell,
    onError,
  }: {
    signal: AbortSignal;
    tell: (keyId: string, state: 'is being retired' | 'is not in use') => void;
    onError: (error: unknown) => void;
  },
): Promise<void> {
  const [, ...others] = cipher.keyIds;
  const retiring = others.filter((keyId) => usedAtStart.has(keyId));
  for (const keyId of others) tell(keyId, retiring.includes(keyId) ? 'is being retired' : 'is not in use');

  let used = usedAtStart;
  while (retiring.length > 0 && !signal.aborted) {
    let intervalMs = INTERVAL_MS;
    try {
      for (const keyId of retiring) await reencrypt(database, cipher, keyId, signal);
      const before = used;
      used = await readUsedKeyIds(database.within(performance.now() + BATCH_TIMEOUT_MS));
      for (const keyId of retiring) if (before.has(keyId) && !used.has(keyId)) tell(keyId, 'is not in use');
    } catch (error) {
      intervalMs = INTERVAL_AFTER_FAILURE_MS;
      onError(error);
    }
    // Replicas that still have the old key first may use it yet.
    await pause(intervalMs * (0.5 + Math.random()), signal);
  }
}

async function reencrypt(database: Database, cipher: SigningKeyCipher, keyId: string, signal: AbortSignal) {
  let unreadable = 0;
  while (!signal.aborted) {
    const run = database.within(performance.now() + BATCH_TIMEOUT_MS);
    // What cannot be decrypted stays, and comes first the next time.
    const rows = await run(selectEncrypted, { keyId: Buffer.from(keyId, 'hex'), skipped: unreadable });
    const batch = rows.flatMap((row) => renew(cipher, row) ?? []);
    unreadable += rows.length - batch.length;
    if (batch.length > 0) await run(updateEncrypted, toColumns(batch));
    if (rows.length < BATCH_SIZE) break;
    await pause(PAUSE_MS, signal);
  }
  if (unreadable > 0) throw new Error(`${unreadable} signing keys cannot be decrypted`);
}

interface EncryptedRow {
  readonly applicationId: string;
  readonly webhookId: string;
  readonly signingKey: Buffer;
}

function renew(cipher: SigningKeyCipher, { signingKey, ...place }: EncryptedRow) {
  try {
    const renewed = cipher.encrypt(cipher.decrypt(signingKey, place), place);
    return { ...place, old: signingKey.toString('hex'), renewed: renewed.toString('hex') };
  } catch {
    return undefined;
  }
}

/** A Postgres array for each field. */
function toColumns(batch: readonly Record<(typeof COLUMNS)[number], string>[]): Record<string, string> {
  return Object.fromEntries(COLUMNS.map((name) => [name, `{${batch.map((row) => JSON.stringify(row[name])).join()}}`]));
}

const COLUMNS = ['applicationId', 'webhookId', 'old', 'renewed'] as const;

const selectNextKeyId: Statement<{ keyId: Buffer }[]> = (db) => {
  const keyId = encryptionKeyIdOf(webhooks.signingKey);
  return db
    .select({ keyId })
    .from(webhooks)
    .where(gt(keyId, sql.placeholder('after')))
    .orderBy(keyId)
    .limit(1)
    .prepare('select_next_encryption_key_id');
};

/** A range of one, in order: for an equality Postgres may well take to reading the whole table. */
const selectEncrypted: Statement<EncryptedRow[]> = (db) => {
  const keyId = encryptionKeyIdOf(webhooks.signingKey);
  return db
    .select({ applicationId: webhooks.applicationId, webhookId: webhooks.id, signingKey: webhooks.signingKey })
    .from(webhooks)
    .where(between(keyId, sql.placeholder('keyId'), sql.placeholder('keyId')))
    .orderBy(keyId)
    .limit(BATCH_SIZE)
    .offset(sql.placeholder('skipped'))
    .prepare('select_encrypted');
};

/** Leaves out what another replica has encrypted anew, or is about to. */
const updateEncrypted: Statement<unknown> = (db) => {
  const column = sql.placeholder;
  const batch = sql`
    unnest(${column('applicationId')}::uuid[], ${column('webhookId')}::text[], ${column('old')}::text[], ${column('renewed')}::text[])
    as batch (application_id, webhook_id, old, renewed)`;
  const renewed = db.$with('renewed').as(
    db
      .select({
        applicationId: webhooks.applicationId,
        id: webhooks.id,
        signingKey: sql`decode(batch.renewed, 'hex')`.as('renewed_signing_key'),
      })
      .from(webhooks)
      .innerJoin(
        batch,
        and(
          sql`${webhooks.applicationId} = batch.application_id`,
          sql`${webhooks.id} = batch.webhook_id`,
          sql`${webhooks.signingKey} = decode(batch.old, 'hex')`,
        ),
      )
      .for('update', { of: webhooks, skipLocked: true }),
  );
  return db
    .with(renewed)
    .update(webhooks)
    .set({ signingKey: sql`${renewed.signingKey}` })
    .from(renewed)
    .where(and(eq(webhooks.applicationId, renewed.applicationId), eq(webhooks.id, renewed.id)))
    .prepare('update_encrypted');
};
