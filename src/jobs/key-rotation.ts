/** Rotates the keys that encrypt secrets in the database: signing keys of webhooks, answers to repeated calls, authenticator apps. */
import { once } from 'node:events';
import { sql } from 'drizzle-orm';
import type { Database, Run } from '../database/pool/database.ts';
import { webhooks } from '../database/schema/webhook-schema.ts';
import { p, type RowOfType, statement, t } from '../database/sql/template.ts';
import type { RowCipher } from '../domain/crypto/aes-gcm.ts';
import type { EncryptionKeys } from '../domain/crypto/encryption-keys.ts';
import { pause } from '../pause.ts';

const INTERVAL_MS = 3_000;
const INTERVAL_AFTER_FAILURE_MS = 60_000;
const BATCH_SIZE = 50;
const PAUSE_MS = 100;
const BATCH_TIMEOUT_MS = 5_000;
/** How long the look-up of the keys at the start may take. */
const START_TIMEOUT_MS = 10_000;

/** Returns the IDs, in hex, of the encryption keys that stored secrets need. Each ID costs one index look-up. */
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

/**
 * Returns the IDs of the encryption keys that stored secrets need at the start.
 *
 * @throws Error of one line if the cipher lacks one of them
 */
export async function requireKeys(
  { keyIds }: RowCipher,
  database: Pick<Database, 'within'>,
): Promise<ReadonlySet<string>> {
  const usedKeyIds = await readUsedKeyIds(database.within(performance.now() + START_TIMEOUT_MS));
  const missing = [...usedKeyIds].filter((keyId) => !keyIds.includes(keyId));
  if (missing.length === 0) return usedKeyIds;
  throw new Error(
    `The encryption keys do not fit the database: its secrets need the key with ID ${missing.join(' and ')}, ` +
      `and there is ${keyIds.join(' and ')}`,
  );
}

/** Rotates the keys, and begins anew whenever they are replaced, until the signal is aborted. */
export async function runKeyRotations(
  database: Database,
  { cipher, encryptionKeys }: { readonly cipher: RowCipher; readonly encryptionKeys: EncryptionKeys },
  { signal, ...options }: KeyRotationOptions,
): Promise<void> {
  let replaced = new AbortController();
  encryptionKeys.follow(() => {
    replaced.abort();
    replaced = new AbortController();
  });
  let { usedAtStart } = options;
  while (!signal.aborted) {
    const until = AbortSignal.any([signal, replaced.signal]);
    await runKeyRotation(database, cipher, { ...options, usedAtStart, signal: until });
    if (!until.aborted) await once(until, 'abort');
    const read = () => readUsedKeyIds(database.within(performance.now() + BATCH_TIMEOUT_MS));
    for (let found = false; !found && !signal.aborted; ) {
      try {
        usedAtStart = await read();
        found = true;
      } catch (error) {
        options.onError(error);
        await pause(INTERVAL_MS, signal);
      }
    }
  }
}

export interface KeyRotationOptions {
  /** The IDs of the keys in use at the start. A key that is used only later is newer, and is not retired. */
  readonly usedAtStart: ReadonlySet<string>;
  readonly signal: AbortSignal;
  onStatusChange(keyId: string, status: 'is being retired' | 'is not in use'): void;
  onError(error: unknown): void;
}

/**
 * Re-encrypts signing keys with the first encryption key until the signal is aborted. Several replicas may run it at
 * the same time.
 */
export async function runKeyRotation(
  database: Database,
  cipher: RowCipher,
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
    // Continues even if no key is left, because a replica that still has an old key first may encrypt with it.
    await pause(intervalMs * (0.5 + Math.random()), signal);
  }
}

async function reencrypt(
  database: Database,
  cipher: RowCipher,
  { table, keyId }: { table: SecretTable; keyId: string },
  signal: AbortSignal,
) {
  let unreadable = 0;
  while (!signal.aborted) {
    const run = database.within(performance.now() + BATCH_TIMEOUT_MS);
    // Rows that cannot be decrypted remain at the beginning of the result, so the next batch skips them.
    const rows = await run(table.selectEncrypted, { keyId: Buffer.from(keyId, 'hex'), skipped: unreadable });
    const renewed = rows.flatMap((row) => renew(cipher, row) ?? []);
    unreadable += rows.length - renewed.length;
    await Promise.all(renewed.map((row) => run(table.updateSecret, row)));
    if (rows.length < BATCH_SIZE) break;
    await pause(PAUSE_MS, signal);
  }
  if (unreadable > 0) throw new Error(`${unreadable} secrets cannot be decrypted`);
}

const ENCRYPTED_ROW = {
  applicationId: webhooks.applicationId,
  webhookId: webhooks.id,
  rowId: t.text,
  signingKey: webhooks.signingKey,
};

/** Returns undefined if the signing key cannot be decrypted. */
function renew(cipher: RowCipher, row: RowOfType<typeof ENCRYPTED_ROW>) {
  const ids = { applicationId: row.applicationId, id: row.webhookId };
  try {
    return { ...row, renewed: cipher.encrypt(cipher.decrypt(row.signingKey, ids), ids) };
  } catch {
    return undefined;
  }
}

type SecretTable = ReturnType<typeof createSecretTable>;

function createSecretTable({ table: tableName, idName, secretName, ownerName }: (typeof SECRET_COLUMNS)[number]) {
  const [table, webhookId, secret] = [sql.raw(tableName), sql.raw(idName), sql.raw(secretName)];
  const owner = sql.raw(ownerName);
  const keyId = sql`substr(${secret}, 1, 4)`;
  return {
    selectNextKeyId: statement('select_next_encryption_key_id', { keyId: webhooks.signingKey })`
      select ${keyId} as key_id from ${table} where ${keyId} > ${p.bytes('after')} order by ${keyId} limit 1`,

    // A range of one value, ordered by the key, uses the index. For an equality Postgres may scan the whole table.
    selectEncrypted: statement('select_encrypted', ENCRYPTED_ROW)`
      select ${owner} as application_id, ${webhookId}::text as webhook_id, id::text as row_id, ${secret} as signing_key from ${table}
      where ${keyId} between ${p.bytes('keyId')} and ${p.bytes('keyId')}
      order by ${keyId} limit ${sql.raw(`${BATCH_SIZE}`)} offset ${p.integer('skipped')}`,

    // Updates no row if another replica has re-encrypted it, or if the row is deleted.
    updateSecret: statement('update_signing_key')`
      update ${table} set ${secret} = ${p.bytes('renewed')}
      where ${owner} = ${p.uuid('applicationId')} and ${webhookId}::text = ${p.text('webhookId')}
        and id::text = ${p.text('rowId')} and ${secret} = ${p.bytes('signingKey')}`,
  };
}

/**
 * The current signing keys, earlier ones that still sign, kept answers, and authenticator apps. `ownerName` and `idName`
 * are the columns that are authenticated with the secret.
 */
export const SECRET_COLUMNS = [
  { table: 'webhooks', ownerName: 'application_id', idName: 'id', secretName: 'signing_key' },
  { table: 'webhook_signing_keys', ownerName: 'application_id', idName: 'webhook_id', secretName: 'signing_key' },
  { table: 'idempotency_keys', ownerName: 'application_id', idName: 'id', secretName: 'answer' },
  { table: 'totp_secrets', ownerName: 'user_id', idName: 'id', secretName: 'sealed' },
] as const;

const TABLES = SECRET_COLUMNS.map(createSecretTable);
