import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { JWK } from 'jose';
import { createDirectory, readOrCreateFile } from './files.ts';
import {
  generateAuthSigningKeys,
  generateOidcSigningKeys,
  parseAuthSigningKeys,
  parseOidcSigningKeys,
} from './signing-keys.ts';

export interface Secrets {
  readonly adminKey: string;
  /** Private JWKs; the first signs. */
  readonly authSigningKeys: readonly JWK[];
  /** Private RSA JWKs; the first signs. Empty: OpenID Connect is off. */
  readonly oidcSigningKeys: readonly JWK[];
  /** Keys of 32 bytes; the first encrypts. */
  readonly encryptionKeys: readonly Buffer[];
}

/** The names of the files, and what an operator does if one is damaged. Lost encryption keys cannot be replaced. */
const CURES: Readonly<Record<string, string>> = {
  'admin-key': 'Restore it, or delete it: the next start generates a key',
  'auth-signing-keys.json': 'Restore it, or delete it: the next start generates keys, and logins in progress fail',
  'oidc-signing-keys.json':
    'Restore it, or delete it: the next start generates keys, and tokens of OpenID Connect fail',
  'encryption-key': 'Restore it from a backup: without it the signing keys of webhooks cannot be read',
};

export const SECRET_FILES: readonly string[] = Object.keys(CURES);

/** Reads the secrets that are not given from files in the directory. Creates missing files with mode 0600. */
export async function completeSecrets(given: Partial<Secrets>, directory: string): Promise<Secrets> {
  return readAll<never>(given, async (name, generate, parse) => {
    await createDirectory(directory);
    const file = join(directory, name);
    return parseFile(file, await readOrCreateFile(file, () => `${generate()}\n`), parse);
  });
}

/** Reads the secrets that are not given from the files that are in the directory, and creates none. */
export async function readSecrets(given: Partial<Secrets>, directory: string): Promise<Partial<Secrets>> {
  const found = await readAll<undefined>(given, async (name, _, parse) => {
    const file = join(directory, name);
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    return text === undefined ? undefined : parseFile(file, text, parse);
  });
  return Object.fromEntries(Object.entries(found).filter(([, secret]) => secret !== undefined));
}

type SecretsOr<Missing> = { readonly [Key in keyof Secrets]: Secrets[Key] | Missing };
type ReadSecret<Missing> = <T>(
  name: string,
  generate: () => string,
  parse: (text: string) => T,
) => Promise<T | Missing>;

async function readAll<Missing>(given: Partial<Secrets>, read: ReadSecret<Missing>): Promise<SecretsOr<Missing>> {
  const random = (encoding: 'base64' | 'base64url') => () => randomBytes(32).toString(encoding);
  return {
    adminKey: given.adminKey ?? (await read('admin-key', random('base64url'), parseAdminKey)),
    authSigningKeys:
      given.authSigningKeys ?? (await read('auth-signing-keys.json', generateAuthSigningKeys, parseAuthSigningKeys)),
    oidcSigningKeys:
      given.oidcSigningKeys ?? (await read('oidc-signing-keys.json', generateOidcSigningKeys, parseOidcSigningKeys)),
    encryptionKeys: given.encryptionKeys ?? (await read('encryption-key', random('base64'), parseEncryptionKeys)),
  };
}

function parseFile<T>(file: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    // Do not replace the file: stored data would become unreadable.
    throw new Error(`${file} ${error instanceof Error ? error.message : error}. ${CURES[basename(file)]}`);
  }
}

/** Trims white space around the admin key. @throws Error whose message continues the name of the setting */
export function parseAdminKey(text: string): string {
  const key = text.trim();
  if (key.length < 32) throw new Error('must have at least 32 characters');
  if (!/^[\x20-\x7e]+$/.test(key)) throw new Error('must have ASCII characters only, as headers do');
  return key;
}

/** Reads one base64 key of 32 bytes per line. @throws Error whose message continues the name of the setting */
export function parseEncryptionKeys(text: string): readonly Buffer[] {
  const lines = text.split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => line !== '');
  if (keys.length === 0 || !keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key))) {
    throw new Error('must hold 32 bytes in base64 on each line');
  }
  if (new Set(keys).size < keys.length) throw new Error('must hold different keys');
  return keys.map((key) => Buffer.from(key, 'base64'));
}
