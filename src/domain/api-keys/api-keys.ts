import { LRUCache } from 'lru-cache';
import { DatabaseUnavailableError, type Deadline, DeadlinePassedError, type Run } from '../../database/database.ts';
import { type ErrorReason, ServiceError } from '../errors.ts';
import { withDeadline } from '../with-deadline.ts';
import { digestOf, isApiKey } from './api-key.ts';
import { ApiKeyLoader, type KeyOwner } from './api-key-loader.ts';

interface Entry {
  /** A promise while the look-up is pending. */
  owner: KeyOwner | Promise<KeyOwner | undefined>;
  /** When the look-up began, in milliseconds of `performance.now()`. */
  readonly readAt: number;
  isRefreshing: boolean;
}

/** A revoked key is refused everywhere within 5 s, of which a look-up takes a part. */
const MAX_AGE_MS = 4_000;
const REFRESH_AGE_MS = 1_500;

/**
 * Authenticates applications by API key. A key in use costs no round trip: its owner is cached and
 * refreshed in the background. Unknown keys have a cache of their own, so that guesses cannot evict the
 * keys in use.
 */
export class ApiKeys {
  readonly #known = new LRUCache<string, Entry>({ max: 50_000 });
  readonly #unknown = new LRUCache<string, true>({ max: 10_000, ttl: 60_000 });
  readonly #loader: ApiKeyLoader;
  readonly #clock: () => Date;

  /** `run` looks keys up without the deadline of a caller: callers share the answer, not their deadlines. */
  constructor(run: Run, clock: () => Date = () => new Date()) {
    this.#loader = new ApiKeyLoader(run);
    this.#clock = clock;
  }

  /**
   * Returns the ID of the key and its application.
   *
   * @throws ServiceError `Invalid API key`, or `deletedReason` for the key of a deleted application
   */
  async authenticate(
    apiKey: string | undefined,
    { deadline, deletedReason = 'INVALID_API_KEY' }: { deadline: Deadline; deletedReason?: ErrorReason },
  ): Promise<KeyOwner> {
    const owner =
      apiKey !== undefined && isApiKey(apiKey) ? await this.#ownerOf(digestOf(apiKey), deadline) : undefined;
    if (!owner || (owner.expiresAt && owner.expiresAt <= this.#clock())) throw new ServiceError('INVALID_API_KEY');
    if (owner.isDeleted) throw new ServiceError(deletedReason);
    return owner;
  }

  /** Empties the cache, so that what this process revokes stops working here at once. */
  forgetAll(): void {
    this.#known.clear();
  }

  #ownerOf(digest: string, deadline: Deadline): KeyOwner | undefined | Promise<KeyOwner | undefined> {
    if (this.#unknown.has(digest)) return undefined;
    const entry = this.#known.get(digest);
    const age = entry ? performance.now() - entry.readAt : Number.POSITIVE_INFINITY;
    if (!entry || age > MAX_AGE_MS) return withDeadline(deadline, () => this.#lookUp(digest), createTimeoutError);
    if (age > REFRESH_AGE_MS && !entry.isRefreshing) {
      entry.isRefreshing = true;
      this.#refresh(digest, entry);
    }
    const { owner } = entry;
    if (!(owner instanceof Promise)) return owner;
    // The pending look-up of another caller may fail before our deadline.
    return withDeadline(deadline, () => owner.catch(() => this.#lookUp(digest)), createTimeoutError);
  }

  /** Callers that come while the look-up is pending share it. A failed one is not cached. */
  #lookUp(digest: string): Promise<KeyOwner | undefined> {
    const owner = this.#loader.load(digest);
    const entry: Entry = { owner, readAt: performance.now(), isRefreshing: false };
    this.#known.set(digest, entry);
    owner.then(
      (found) => {
        if (found) entry.owner = found;
        else this.#markUnknown(digest, entry);
      },
      () => this.#drop(digest, entry),
    );
    return owner;
  }

  #refresh(digest: string, entry: Entry): void {
    const readAt = performance.now();
    this.#loader.load(digest).then(
      (owner) => {
        if (this.#known.peek(digest) !== entry) return;
        if (owner) this.#known.set(digest, { owner, readAt, isRefreshing: false });
        else this.#markUnknown(digest, entry);
      },
      () => {
        entry.isRefreshing = false;
      },
    );
  }

  #markUnknown(digest: string, entry: Entry): void {
    this.#drop(digest, entry);
    this.#unknown.set(digest, true);
  }

  #drop(digest: string, entry: Entry): void {
    if (this.#known.peek(digest) === entry) this.#known.delete(digest);
  }
}

function createTimeoutError(): Error {
  return new DatabaseUnavailableError(new DeadlinePassedError());
}
