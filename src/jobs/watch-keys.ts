/** Reads the files of the keys again when they change. */
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { parseEncryptionKeys } from '../config/secrets.ts';
import { parseAuthSigningKeys } from '../config/signing-keys.ts';
import { type Database, DatabaseUnavailableError } from '../database/pool/database.ts';
import { RowCipher } from '../domain/crypto/aes-gcm.ts';
import type { EncryptionKeys } from '../domain/crypto/encryption-keys.ts';
import { type AuthTokens, KeyInUseError } from '../domain/tokens/auth-tokens.ts';
import { pause } from '../pause.ts';
import { requireKeys } from './key-rotation.ts';
import { watchFiles } from './watch-files.ts';

/** The pause before the database is asked again, which has not answered. */
const PAUSE_MS = 1_000;

export interface KeyWatch {
  readonly database: Pick<Database, 'within'>;
  readonly encryptionKeys: EncryptionKeys;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly tokens: AuthTokens;
}

/** Replaces the keys until the signal is aborted. A file that lacks a key in use is not used. */
export async function watchKeys({ auth, encryption }: Config['keyFiles'], parts: KeyWatch): Promise<void> {
  const { encryptionKeys, logger, signal, tokens } = parts;
  const watch = async (
    file: string | undefined,
    name: string,
    use: (text: string) => Promise<void>,
    listKeyIds: () => readonly (string | undefined)[],
  ) => {
    if (file === undefined) return;
    await watchFiles([file], {
      signal,
      use: (text = '') => use(text),
      onUsed: () => logger.info({ keyIds: listKeyIds() }, `${name} keys read again`),
      onError: (error) => logger.error({ err: error }, `${name} keys not read again`),
    });
  };
  await Promise.all([
    watch(
      auth,
      'auth token',
      (text) => tokens.replaceKeys(parseAuthSigningKeys(text)),
      () => tokens.publicJwks.keys.map(({ kid }) => kid),
    ),
    watch(
      encryption,
      'encryption',
      (text) => replaceEncryptionKeys(parseEncryptionKeys(text), parts),
      () => new RowCipher([...encryptionKeys]).keyIds,
    ),
  ]);
}

/** @throws Error if stored secrets, or what the first key has sealed, need a key that is not there */
async function replaceEncryptionKeys(
  keys: readonly Buffer[],
  { database, encryptionKeys, signal }: KeyWatch,
): Promise<void> {
  // As at the first read.
  if (keys.length === encryptionKeys.length && keys.every((key, at) => encryptionKeys[at]?.equals(key))) return;
  const cipher = new RowCipher(keys);
  const [current = ''] = new RowCipher([...encryptionKeys]).keyIds;
  if (!cipher.keyIds.includes(current)) throw new KeyInUseError(current);
  for (;;) {
    try {
      await requireKeys(cipher, database);
      break;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError) || signal.aborted) throw error;
      await pause(PAUSE_MS, signal);
    }
  }
  encryptionKeys.replace(keys);
}
