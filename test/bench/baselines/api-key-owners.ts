import { digestOf, isApiKey } from '../../../src/domain/api-keys/api-key.ts';
import type { Application } from '../../../src/domain/call.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Statements } from './statements.ts';

/** As Usher: trusted for less than the five seconds in which a revoked key must stop working. */
const TRUST_MS = 4_000;
const REFRESH_MS = 1_500;

/** Whose API key it is, remembered and read again in the background. */
export class ApiKeyOwners {
  readonly #select: Statements['selectOwner'];
  readonly #known = new Map<string, { application: Application; readAt: number; refreshing: boolean }>();

  constructor({ selectOwner }: Statements) {
    this.#select = selectOwner;
  }

  /** Throws `Invalid API key`. */
  async authenticate(apiKey: string | undefined): Promise<Application> {
    if (apiKey === undefined || !isApiKey(apiKey)) throw new ServiceError('unauthenticated', 'Invalid API key');
    const digest = digestOf(apiKey);
    const entry = this.#known.get(digest);
    const age = entry ? performance.now() - entry.readAt : Number.POSITIVE_INFINITY;
    if (!entry || age > TRUST_MS) return this.#read(digest);
    if (age > REFRESH_MS && !entry.refreshing) {
      entry.refreshing = true;
      this.#read(digest).catch(() => this.#known.delete(digest));
    }
    return entry.application;
  }

  async #read(digest: string): Promise<Application> {
    const readAt = performance.now();
    const application = await this.#select(Buffer.from(digest, 'hex'));
    if (!application) throw new ServiceError('unauthenticated', 'Invalid API key');
    this.#known.set(digest, { application, readAt, refreshing: false });
    return application;
  }
}
