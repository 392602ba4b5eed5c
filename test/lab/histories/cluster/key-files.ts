/** The files of the keys of replicas, which each replica has for itself, so that they differ while keys are rotated. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JWK } from 'jose';
import { createDirectory } from '../../../support/directory.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { REPLICAS } from './replicas.ts';

/** Longer than Usher takes to see a change, and to see that nobody is writing any more. */
const SEEN_MS = 5_000;
/** How long two replicas differ. */
const APART_MS = 1_000;

interface Keys {
  readonly auth: JWK;
  readonly oidc: JWK;
  readonly encryption: string;
}

export class KeyFiles {
  readonly #directories: readonly string[];
  /** The first signs and encrypts. */
  #keys: readonly Keys[] = [createKeys()];

  private constructor(directories: readonly string[]) {
    this.#directories = directories;
  }

  static async create(): Promise<KeyFiles> {
    const directories = await Promise.all(Array.from({ length: REPLICAS }, createDirectory));
    const files = new KeyFiles(directories);
    for (const directory of directories) await files.#write(directory);
    return files;
  }

  /** The settings of each replica. */
  get env(): readonly Readonly<Record<string, string>>[] {
    return this.#directories.map((directory) => ({
      AUTH_SIGNING_KEYS_FILE: join(directory, 'auth'),
      OIDC_SIGNING_KEYS_FILE: join(directory, 'oidc'),
      ENCRYPTION_KEY_FILE: join(directory, 'encryption'),
    }));
  }

  /** Adds a key of each kind, and then moves it to the front. Earlier keys stay: tokens live longer than a history. */
  async rotate(): Promise<void> {
    const next = createKeys();
    for (const keys of [
      [...this.#keys, next],
      [next, ...this.#keys],
    ]) {
      this.#keys = keys;
      for (const directory of this.#directories) {
        await this.#write(directory);
        await sleep(APART_MS);
      }
      await sleep(SEEN_MS);
    }
  }

  async #write(directory: string): Promise<void> {
    const set = (kind: 'auth' | 'oidc') => JSON.stringify({ keys: this.#keys.map((keys) => keys[kind]) });
    await writeFile(join(directory, 'auth'), set('auth'));
    await writeFile(join(directory, 'oidc'), set('oidc'));
    await writeFile(join(directory, 'encryption'), this.#keys.map(({ encryption }) => encryption).join('\n'));
  }
}

function createKeys(): Keys {
  const { privateKey } = generateKeyPairSync('ed25519');
  const kid = randomBytes(8).toString('hex');
  return {
    auth: { ...privateKey.export({ format: 'jwk' }), kid },
    oidc: createRsaJwk(kid),
    encryption: randomBytes(32).toString('base64'),
  };
}
