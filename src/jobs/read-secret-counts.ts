/** Decrypts every stored secret, and counts those that no key opens. */
import type { PostgresClient } from '../database/sql/driver.ts';
import type { RowCipher } from '../domain/crypto/aes-gcm.ts';
import { SECRET_COLUMNS } from './key-rotation.ts';

const BATCH_SIZE = 500;

export interface SecretCount {
  readonly table: string;
  readonly total: number;
  readonly unreadable: number;
  /** The IDs, in hex, of keys that are needed and missing. */
  readonly missingKeyIds: readonly string[];
}

/** Must run in a transaction. Tables that do not exist yet are left out. @param most how many secrets of each table are tried */
export async function readSecretCounts(
  client: PostgresClient,
  cipher: RowCipher,
  schema: string,
  most = Number.MAX_SAFE_INTEGER,
): Promise<readonly SecretCount[]> {
  const counts: SecretCount[] = [];
  for (const { table, idName, ownerName, secretName } of SECRET_COLUMNS) {
    const known = await client`select from pg_tables where schemaname = ${schema} and tablename = ${table}`;
    if (known.length === 0) continue;
    let [total, unreadable] = [0, 0];
    const missing = new Set<string>();
    const rows = client`
      select ${client(ownerName)} as "applicationId", ${client(idName)}::text as id, ${client(secretName)} as secret
      from ${client(schema)}.${client(table)} limit ${most}`;
    for await (const batch of rows.cursor(BATCH_SIZE)) {
      total += batch.length;
      for (const { applicationId, id, secret } of batch) {
        const problem = tryDecrypt(cipher, secret, { applicationId, id });
        if (problem === undefined) continue;
        unreadable++;
        missing.add(problem);
      }
    }
    const missingKeyIds = [...missing].filter((keyId) => !cipher.keyIds.includes(keyId));
    counts.push({ table, total, unreadable, missingKeyIds });
  }
  return counts;
}

/** Returns the ID of the key that the secret names, or undefined if it can be decrypted. */
function tryDecrypt(cipher: RowCipher, secret: Buffer, row: { applicationId: string; id: string }): string | undefined {
  try {
    cipher.decrypt(secret, row);
    return undefined;
  } catch {
    return secret.subarray(0, 4).toString('hex');
  }
}

/** Returns undefined if all can be decrypted. */
export function describeUnreadable(counts: readonly SecretCount[]): string | undefined {
  const bad = counts.filter(({ unreadable }) => unreadable > 0);
  if (bad.length === 0) return undefined;
  const parts = bad.map(({ table, total, unreadable }) => `${unreadable} of ${total} in ${table}`).join(', ');
  const keyIds = new Set(bad.flatMap(({ missingKeyIds }) => missingKeyIds));
  const missing = keyIds.size > 0 ? `: the key with ID ${[...keyIds].join(' and ')} is missing` : '';
  return `${parts} cannot be decrypted${missing}`;
}
