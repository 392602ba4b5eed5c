import { digestOf, isApiKey } from '../../../../src/domain/applications/api-key.ts';
import { ServiceError } from '../../../../src/domain/core/errors.ts';
import { type Owner, type Query, SELECT_OWNER } from './statements.ts';

/** As in Usher: a revoked key must stop working within five seconds. */
const TRUST_MS = 4_000;
const REFRESH_MS = 1_500;

/** Caches the owners of API keys and refreshes them in the background. */
export class ApiKeyCache {
  readonly #query: Query;
  readonly #known = new Map<string, { owner: Owner; readAt: number; refreshing: boolean }>();

  constructor(query: Query) {
    this.#query = query;
  }

  /** @throws ServiceError `Invalid API key` */
  async authenticate(apiKey: string | undefined): Promise<Owner> {
    if (apiKey === undefined || !isApiKey(apiKey)) throw new ServiceError('INVALID_API_KEY');
    const digest = digestOf(apiKey);
    const entry = this.#known.get(digest);
    const age = entry ? performance.now() - entry.readAt : Number.POSITIVE_INFINITY;
    if (!entry || age > TRUST_MS) return this.#read(digest);
    if (age > REFRESH_MS && !entry.refreshing) {
      entry.refreshing = true;
      this.#read(digest).catch(() => this.#known.delete(digest));
    }
    return entry.owner;
  }

  async #read(digest: string): Promise<Owner> {
    const readAt = performance.now();
    const [owner] = await this.#query<Owner>(SELECT_OWNER, [Buffer.from(digest, 'hex')]);
    if (!owner) throw new ServiceError('INVALID_API_KEY');
    this.#known.set(digest, { owner, readAt, refreshing: false });
    return owner;
  }
}
