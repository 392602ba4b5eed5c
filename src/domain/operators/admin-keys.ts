import { hash, timingSafeEqual } from 'node:crypto';

export interface AdminKey {
  /** Identifies the key in the audit log. */
  readonly name: string;
  readonly key: string;
  /** If absent, the key has every right. */
  readonly rights?: readonly string[];
}

export interface AdminKeyHolder {
  readonly name: string;
  readonly rights: readonly string[];
}

export class AdminKeys {
  readonly #keys: readonly (AdminKeyHolder & { digest: Buffer })[];

  constructor(keys: readonly AdminKey[]) {
    this.#keys = keys.map(({ name, key, rights = ['all'] }) => ({ name, rights, digest: digestOf(key) }));
  }

  /** Returns the name and rights of a key. Compares digests in constant time. */
  find(given: string): AdminKeyHolder | undefined {
    const digest = digestOf(given);
    return this.#keys.filter((key) => timingSafeEqual(key.digest, digest))[0];
  }
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
