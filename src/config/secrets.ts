/** The secrets Usher keeps: what their files hold, and making them where Usher runs on its own Postgres. */
import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { readOrCreateFile } from './read-or-create-file.ts';

export interface Secrets {
  readonly adminKey: string;
  /** Private JWKs; the first signs. */
  readonly authSigningKeys: readonly JWK[];
  /** Keys of 32 bytes; the first encrypts. */
  readonly encryptionKeys: readonly Buffer[];
}

/** The secrets that are given, the others read from the directory, or generated into it with mode 0600. */
export async function completeSecrets(given: Partial<Secrets>, directory: string): Promise<Secrets> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return {
    adminKey: given.adminKey ?? (await keep(join(directory, 'admin-key'), generateAdminKey, parseAdminKey)),
    authSigningKeys:
      given.authSigningKeys ??
      (await keep(join(directory, 'auth-signing-keys.json'), generateSigningKeys, parseAuthSigningKeys)),
    encryptionKeys:
      given.encryptionKeys ??
      (await keep(join(directory, 'encryption-key'), generateEncryptionKey, parseEncryptionKeys)),
  };
}

/** Throws an Error that says what is wrong. */
export function parseAdminKey(text: string): string {
  const key = text.trim();
  if (key.length < 32) throw new Error('must have at least 32 characters');
  return key;
}

/** From a private JWK Set of Ed25519 and P-256 keys. Throws an Error that says what is wrong. */
export function parseAuthSigningKeys(text: string): JWK[] {
  const keys: JWK[] | undefined = tryParse(text)?.keys;
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('must hold a JWK Set with at least one key');
  const ids = keys.map((key: JWK | null) => key?.kid);
  if (ids.some((id) => typeof id !== 'string' || id === '') || new Set(ids).size < ids.length) {
    throw new Error('must hold keys that each have a kid of their own');
  }
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
    .filter((line) => line !== '');
  if (keys.length === 0 || !keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key))) {
    throw new Error('must hold 32 bytes in base64 on each line');
  }
  return keys.map((key) => Buffer.from(key, 'base64'));
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

function generateAdminKey(): string {
  return randomBytes(32).toString('base64url');
}

function generateEncryptionKey(): string {
  return randomBytes(32).toString('base64');
}

/** The secret in the file, which is made where there is none. */
async function keep<T>(file: string, generate: () => string, parse: (text: string) => T): Promise<T> {
  const text = await readOrCreateFile(file, () => `${generate()}\n`);
  try {
    return parse(text);
  } catch (error) {
    throw new Error(`${file} ${error instanceof Error ? error.message : error}`);
  }
}

function tryParse(text: string): { keys?: JWK[] } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
