/** Rotation of the keys that encrypt the signing keys of webhooks. */
import { and, between, eq, gt, sql } from 'drizzle-orm';
import type { Database, Run, Statement } from '../database/database.ts';
import { encryptionKeyIdOf, webhooks } from '../database/schema.ts';
import { pause } from '../domain/pause.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';

const INTERVAL_MS = 3_000;
const INTERVAL_AFTER_FAILURE_MS = 60_000;
const BATCH_SIZE = 50;
const PAUSE_MS = 100;
const BATCH_TIMEOUT_MS = 5_000;

/** Returns the IDs, in hex, of the keys that webhooks need. It costs one index step per key. */
export async function readUsedKeyIds(run: Run): Promise<ReadonlySet<string>> {
  const keyIds = new Set<string>();
  for (let after: Buffer = Buffer.alloc(0); ; ) {
    const [next] = await run(selectNextKeyId, { after });
    if (!next) return keyIds;
    keyIds.add(next.keyId.toString('hex'));
    after = next.keyId;
  }
}

/** @throws Error of one line if a webhook needs a key that the cipher does not have */
export function requireKeys({ keyIds }: SigningKeyCipher, usedKeyIds: ReadonlySet<string>): void {
  const missing = [...usedKeyIds].filter((keyId) => !keyIds.includes(keyId));
  if (missing.length === 0) return;
  throw new Error(
    `The encryption keys do not fit the database: webhooks need the key with ID ${missing.join(' and ')}, ` +
      `and there is ${keyIds.join(' and ')}`,
  );
}

export interface KeyRotationOptions {
  /** The keys in use when the service started. A key that comes into use later is a newer one, and stays. */
  readonly usedAtStart: ReadonlySet<string>;
  readonly signal: AbortSignal;
  onStatusChange(keyId: string, status: 'is being retired' | 'is not in use'): void;
  onError(error: unknown): void;
}

/**
 * Re-encrypts with the first key what the other keys have encrypted, until the signal is aborted. Any number of
 * replicas may run it at once.
 */
export async function runKeyRotation(
  database: Database,
  cipher: SigningKeyCipher,
  { usedAtStart, signal, onStatusChange, onError }: KeyRotationOptions,
): Promise<void> {
  const [, ...oldKeyIds] = cipher.keyIds;
  const retiring = oldKeyIds.filter((keyId) => usedAtStart.has(keyId));
  for (const keyId of oldKeyIds) onStatusChange(keyId, retiring.includes(keyId) ? 'is being retired' : 'is not in use');

  let used = usedAtStart;
  while (retiring.length > 0 && !signal.aborted) {
    let intervalMs = INTERVAL_MS;
    try {
      for (const keyId of retiring) await reencrypt(database, cipher, keyId, signal);
      const usedBefore = used;
      used = await readUsedKeyIds(database.within(performance.now() + BATCH_TIMEOUT_MS));
      for (const keyId of retiring) {
        if (usedBefore.has(keyId) && !used.has(keyId)) onStatusChange(keyId, 'is not in use');
      }
    } catch (error) {
      intervalMs = INTERVAL_AFTER_FAILURE_MS;
      onError(error);
    }
    // A replica whose first key is the old one may still encrypt with it.
    await pause(intervalMs * (0.5 + Math.random()), signal);
  }
}

async function reencrypt(database: Database, cipher: SigningKeyCipher, keyId: string, signal: AbortSignal) {
  let unreadable = 0;
  while (!signal.aborted) {
    const run = database.within(performance.now() + BATCH_TIMEOUT_MS);
    // Rows that cannot be decrypted stay, and come first the next time.
    const rows = await run(selectEncrypted, { keyId: Buffer.from(keyId, 'hex'), skipped: unreadable });
    const renewed = rows.flatMap((row) => renew(cipher, row) ?? []);
    unreadable += rows.length - renewed.length;
    await Promise.all(renewed.map((row) => run(updateSigningKey, row)));
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

/** Returns undefined if the signing key cannot be decrypted. */
function renew(cipher: SigningKeyCipher, row: EncryptedRow) {
  try {
    return { ...row, renewed: cipher.encrypt(cipher.decrypt(row.signingKey, row), row) };
  } catch {
    return undefined;
  }
}

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

/** A range of one key, in order: for an equality Postgres may choose to read the whole table. */
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

/** Does nothing if another replica has re-encrypted the row, or if the webhook is gone. */
const updateSigningKey: Statement<unknown> = (db) =>
  db
    .update(webhooks)
    .set({ signingKey: sql`${sql.placeholder('renewed')}` })
    .where(
      and(
        eq(webhooks.applicationId, sql.placeholder('applicationId')),
        eq(webhooks.id, sql.placeholder('webhookId')),
        eq(webhooks.signingKey, sql.placeholder('signingKey')),
      ),
    )
    .prepare('update_signing_key');
