import { LRUCache } from 'lru-cache';
import { DatabaseUnavailableError, type Deadline, DeadlinePassedError, type Run } from '../../database/database.ts';
import type { Application } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { digestOf, isApiKey } from './api-key.ts';
import { ApiKeyLoader, type KeyOwner } from './api-key-loader.ts';

interface Entry {
  /** A promise while the look-up is under way. */
  owner: KeyOwner | Promise<KeyOwner | undefined>;
  /** When the look-up was asked for, in milliseconds of `performance.now()`. */
  readonly readAt: number;
  refreshing: boolean;
}

/** A revoked key is refused everywhere within 5 seconds; a look-up itself takes a part of them. */
const TRUST_MS = 4_000;
const REFRESH_MS = 1_500;

/**
 * Knows whose API key it is. A key in use costs no round trip: its owner is remembered and read
 * again in the background. Unknown keys have a memory of their own, so that guesses cannot push
 * out the keys in use.
 */
export class ApiKeys {
  readonly #known = new LRUCache<string, Entry>({ max: 50_000 });
  readonly #unknown = new LRUCache<string, true>({ max: 10_000, ttl: 60_000 });
  readonly #lookUps: ApiKeyLoader;

  /** Looks keys up with `run`, for as long as that takes: callers share the answer, not their deadlines. */
  constructor(run: Run) {
    this.#lookUps = new ApiKeyLoader(run);
  }

  /**
   * Resolves to the key's application. Throws a ServiceError `Invalid API key`, or, where
   * `deletedMessage` is given, that message for the key of a deleted application.
   */
  async authenticate(
    apiKey: string | undefined,
    { deadline, deletedMessage = 'Invalid API key' }: { deadline: Deadline; deletedMessage?: string },
  ): Promise<Application> {
    const owner =
      apiKey !== undefined && isApiKey(apiKey) ? await this.#ownerOf(digestOf(apiKey), deadline) : undefined;
    if (!owner) throw new ServiceError('unauthenticated', 'Invalid API key');
    if (owner.isDeleted) throw new ServiceError('unauthenticated', deletedMessage);
    return owner.application;
  }

  /** Looks every key up anew: what this process itself has revoked stops working here at once. */
  forgetAll(): void {
    this.#known.clear();
  }

  #ownerOf(digest: string, deadline: Deadline): KeyOwner | undefined | Promise<KeyOwner | undefined> {
    if (this.#unknown.has(digest)) return undefined;
    const entry = this.#known.get(digest);
    const age = entry ? performance.now() - entry.readAt : Number.POSITIVE_INFINITY;
    if (!entry || age > TRUST_MS) return settleBefore(deadline, this.#lookUp(digest));
    if (age > REFRESH_MS && !entry.refreshing) {
      entry.refreshing = true;
      this.#refresh(digest, entry);
    }
    if (!(entry.owner instanceof Promise)) return entry.owner;
    // One that began before we came may have failed early for us.
    return settleBefore(
      deadline,
      entry.owner.catch(() => this.#lookUp(digest)),
    );
  }

  /** Callers who come while the look-up is under way share it; a failed one is not remembered. */
  #lookUp(digest: string): Promise<KeyOwner | undefined> {
    const owner = this.#lookUps.ownerOf(digest);
    const entry: Entry = { owner, readAt: performance.now(), refreshing: false };
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
    this.#lookUps.ownerOf(digest).then(
      (owner) => {
        if (this.#known.peek(digest) !== entry) return;
        if (owner) this.#known.set(digest, { owner, readAt, refreshing: false });
        else this.#markUnknown(digest, entry);
      },
      () => {
        entry.refreshing = false;
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

/** Rejects with DatabaseUnavailableError when the look-up takes longer. */
function settleBefore<T>(deadline: Deadline, lookUp: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(
    () => reject(new DatabaseUnavailableError(new DeadlinePassedError('No answer before the deadline'))),
    Math.max(0, deadline - performance.now()),
  );
  lookUp.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}
