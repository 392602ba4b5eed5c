/** The secrets Usher keeps: what their files hold, and making them where Usher runs on its own Postgres. */
import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JWK } from 'jose';

export interface Secrets {
  readonly adminKey: string;
  /** Private JWKs; the first signs. */
  readonly signingKeys: readonly JWK[];
  /** Keys of 32 bytes; the first encrypts. */
  readonly encryptionKeys: readonly Buffer[];
}

/** The secrets that are given, the others read from the directory, or generated into it with mode 0600. */
export async function completeSecrets(given: Partial<Secrets>, directory: string): Promise<Secrets> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const kept = (name: string, generate: () => string) => readOrCreate(join(directory, name), generate);
  return {
    adminKey: given.adminKey ?? (await kept('admin-key', () => randomBytes(32).toString('base64url'))).trim(),
    signingKeys: given.signingKeys ?? parseSigningKeys(await kept('auth-signing-keys.json', generateSigningKeys)),
    encryptionKeys:
      given.encryptionKeys ??
      parseEncryptionKeys(await kept('encryption-key', () => randomBytes(32).toString('base64'))),
  };
}

/** From a private JWK Set of Ed25519 and P-256 keys. Throws an Error that says what is wrong. */
export function parseSigningKeys(text: string): JWK[] {
  const keys: JWK[] | undefined = tryParse(text)?.keys;
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('must hold a JWK Set with at least one key');
  return keys.map((key) => {
    try {
      createPrivateKey({ key: { ...key }, format: 'jwk' });
    } catch {
      throw new Error('must hold private keys only, each a valid JWK');
    }
    const alg = key.crv === 'Ed25519' ? 'EdDSA' : key.crv === 'P-256' ? 'ES256' : undefined;
    if (!alg || (key.alg !== undefined && key.alg !== alg))
      throw new Error('must hold Ed25519 (EdDSA) or P-256 (ES256) keys');
    return { ...key, alg };
  });
}

/** From 32 bytes in base64 per line. Throws an Error that says what is wrong. */
export function parseEncryptionKeys(text: string): Buffer[] {
  const keys = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => Buffer.from(line, 'base64'));
  if (keys.length === 0 || keys.some((key) => key.length !== 32)) {
    throw new Error('must hold 32 bytes in base64 on each line');
  }
  return keys;
}

function generateSigningKeys(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = {
    ...privateKey.export({ format: 'jwk' }),
    alg: 'EdDSA',
    use: 'sig',
    kid: randomBytes(8).toString('hex'),
  };
  return JSON.stringify({ keys: [key] }, null, 2);
}

/** Writes only where there is no file: what another process has just made is read, not replaced. */
async function readOrCreate(file: string, generate: () => string): Promise<string> {
  try {
    await writeFile(file, `${generate()}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return readFile(file, 'utf8');
}

function tryParse(text: string): { keys?: JWK[] } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
