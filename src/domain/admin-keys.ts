import { hash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from './errors.ts';

export interface AdminKey {
  /** Tells keys apart in the audit log. */
  readonly name: string;
  readonly key: string;
}

/** Authenticates operators by admin key. */
export class AdminKeys {
  readonly #keys: readonly { name: string; digest: Buffer }[];

  constructor(keys: readonly AdminKey[]) {
    this.#keys = keys.map(({ name, key }) => ({ name, digest: digestOf(key) }));
  }

  /** Returns the name of the key. Compares in constant time. @throws ServiceError `Invalid admin key` */
  authenticate(given: string | undefined): string {
    const digest = digestOf(given ?? '');
    const [found] = this.#keys.filter((key) => timingSafeEqual(key.digest, digest));
    if (given === undefined || !found) throw new ServiceError('INVALID_ADMIN_KEY');
    return found.name;
  }
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
