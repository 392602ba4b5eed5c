/** Rotation of the keys that encrypt the signing keys of webhooks. */
import { and, between, eq, gt, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type Database, type Run, type Statement, whereEqual } from '../database/database.ts';
import { encryptionKeyIdOf, webhookSigningKeys, webhooks } from '../database/webhook-schema.ts';
import { pause } from '../domain/pause.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';

const INTERVAL_MS = 3_000;
const INTERVAL_AFTER_FAILURE_MS = 60_000;
const BATCH_SIZE = 50;
const PAUSE_MS = 100;
const BATCH_TIMEOUT_MS = 5_000;

/** Returns the IDs, in hex, of the keys that webhooks need. Each costs one index look-up. */
export async function readUsedKeyIds(run: Run): Promise<ReadonlySet<string>> {
  const keyIds = new Set<string>();
  for (const { selectNextKeyId } of TABLES) {
    for (let [next] = await run(selectNextKeyId, { after: Buffer.alloc(0) }); next; ) {
      keyIds.add(next.keyId.toString('hex'));
      [next] = await run(selectNextKeyId, { after: next.keyId });
    }
  }
  return keyIds;
}

/** @throws Error of one line if a webhook needs a key that the cipher lacks */
export function requireKeys({ keyIds }: SigningKeyCipher, usedKeyIds: ReadonlySet<string>): void {
  const missing = [...usedKeyIds].filter((keyId) => !keyIds.includes(keyId));
  if (missing.length === 0) return;
  throw new Error(
    `The encryption keys do not fit the database: webhooks need the key with ID ${missing.join(' and ')}, ` +
      `and there is ${keyIds.join(' and ')}`,
  );
}

export interface KeyRotationOptions {
  /** The keys in use at the start. A key that comes into use later is newer, and is not retired. */
  readonly usedAtStart: ReadonlySet<string>;
  readonly signal: AbortSignal;
  onStatusChange(keyId: string, status: 'is being retired' | 'is not in use'): void;
  onError(error: unknown): void;
}

/**
 * Re-encrypts signing keys with the first encryption key until the signal is aborted. Any number of replicas may run it
 * at once.
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
      for (const keyId of retiring) {
        for (const table of TABLES) await reencrypt(database, cipher, { table, keyId }, signal);
      }
      const usedBefore = used;
      used = await readUsedKeyIds(database.within(performance.now() + BATCH_TIMEOUT_MS));
      for (const keyId of retiring) {
        if (usedBefore.has(keyId) && !used.has(keyId)) onStatusChange(keyId, 'is not in use');
      }
    } catch (error) {
      intervalMs = INTERVAL_AFTER_FAILURE_MS;
      onError(error);
    }
    // Runs on, because a replica that still has the old key first may encrypt with it.
    await pause(intervalMs * (0.5 + Math.random()), signal);
  }
}

async function reencrypt(
  database: Database,
  cipher: SigningKeyCipher,
  { table, keyId }: { table: SigningKeyTable; keyId: string },
  signal: AbortSignal,
) {
  let unreadable = 0;
  while (!signal.aborted) {
    const run = database.within(performance.now() + BATCH_TIMEOUT_MS);
    // Rows that cannot be decrypted stay at the front, so the next batch skips them.
    const rows = await run(table.selectEncrypted, { keyId: Buffer.from(keyId, 'hex'), skipped: unreadable });
    const renewed = rows.flatMap((row) => renew(cipher, row) ?? []);
    unreadable += rows.length - renewed.length;
    await Promise.all(renewed.map((row) => run(table.updateSigningKey, row)));
    if (rows.length < BATCH_SIZE) break;
    await pause(PAUSE_MS, signal);
  }
  if (unreadable > 0) throw new Error(`${unreadable} signing keys cannot be decrypted`);
}

interface EncryptedRow {
  readonly applicationId: string;
  readonly webhookId: string;
  readonly id: string;
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

/** The statements for one of the tables that hold signing keys. */
interface SigningKeyTable {
  readonly selectNextKeyId: Statement<{ keyId: Buffer }[]>;
  readonly selectEncrypted: Statement<EncryptedRow[]>;
  readonly updateSigningKey: Statement<unknown>;
}

function createSigningKeyTable(
  table: typeof webhooks | typeof webhookSigningKeys,
  webhookId: PgColumn,
): SigningKeyTable {
  const keyId = encryptionKeyIdOf(table.signingKey);
  return {
    selectNextKeyId: (db) =>
      db
        .select({ keyId })
        .from(table)
        .where(gt(keyId, sql.placeholder('after')))
        .orderBy(keyId)
        .limit(1)
        .prepare('select_next_encryption_key_id'),

    // A range with one value, in order: for an equality Postgres may scan the whole table.
    selectEncrypted: (db) =>
      db
        .select({
          applicationId: table.applicationId,
          webhookId: sql<string>`${webhookId}`.as('webhook_id'),
          id: sql<string>`${table.id}::text`.as('row_id'),
          signingKey: table.signingKey,
        })
        .from(table)
        .where(between(keyId, sql.placeholder('keyId'), sql.placeholder('keyId')))
        .orderBy(keyId)
        .limit(BATCH_SIZE)
        .offset(sql.placeholder('skipped'))
        .prepare('select_encrypted'),

    // Changes nothing if another replica has re-encrypted the row, or if the webhook is deleted.
    updateSigningKey: (db) =>
      db
        .update(table)
        .set({ signingKey: sql`${sql.placeholder('renewed')}` })
        .where(and(whereEqual(table, 'applicationId', 'id', 'signingKey'), eq(webhookId, sql.placeholder('webhookId'))))
        .prepare('update_signing_key'),
  };
}

/** The current signing keys, and earlier ones that still sign. */
const TABLES = [
  createSigningKeyTable(webhooks, webhooks.id),
  createSigningKeyTable(webhookSigningKeys, webhookSigningKeys.webhookId),
];
