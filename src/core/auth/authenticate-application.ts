import { and, eq, isNull, sql } from 'drizzle-orm';
import { LRUCache } from 'lru-cache';
import type { Run, Statement } from '../../db/database.ts';
import { apiKeys, applications } from '../../db/schema.ts';
import type { Application } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { digestOf, isApiKey } from './api-key.ts';

/** The owner of a key: an application, or one that has been deleted since. */
interface Owner {
  readonly application: Application;
  readonly isDeleted: boolean;
}

interface Entry {
  readonly owner: Promise<Owner | undefined>;
  /** When the look-up began, in milliseconds of `performance.now()`. */
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
  readonly #unknown = new LRUCache<string, true>({ max: 50_000, ttl: 60_000 });

  /**
   * Resolves to the key's application. Throws a ServiceError `Invalid API key`, or, where
   * `deletedMessage` is given, that message for the key of a deleted application.
   */
  async authenticate(
    apiKey: string | undefined,
    run: Run,
    { deletedMessage = 'Invalid API key' } = {},
  ): Promise<Application> {
    const owner = apiKey !== undefined && isApiKey(apiKey) ? await this.#ownerOf(digestOf(apiKey), run) : undefined;
    if (!owner) throw new ServiceError('unauthenticated', 'Invalid API key');
    if (owner.isDeleted) throw new ServiceError('unauthenticated', deletedMessage);
    return owner.application;
  }

  /** Looks every key up anew: what this process itself has revoked stops working here at once. */
  forgetAll(): void {
    this.#known.clear();
  }

  async #ownerOf(digest: string, run: Run): Promise<Owner | undefined> {
    if (this.#unknown.has(digest)) return undefined;
    const entry = this.#known.get(digest);
    const age = entry ? performance.now() - entry.readAt : Number.POSITIVE_INFINITY;
    if (!entry || age > TRUST_MS) return this.#lookUp(digest, run).owner;
    if (age > REFRESH_MS && !entry.refreshing) {
      entry.refreshing = true;
      this.#refresh(digest, entry, run);
    }
    // Who began the look-up may have had less time than we have.
    return entry.owner.catch(() => this.#lookUp(digest, run).owner);
  }

  /** Callers who come while the look-up is under way share it; a failed one is not remembered. */
  #lookUp(digest: string, run: Run): Entry {
    const entry = { owner: readOwner(digest, run), readAt: performance.now(), refreshing: false };
    this.#known.set(digest, entry);
    entry.owner.then(
      (owner) => owner ?? this.#markUnknown(digest, entry),
      () => this.#drop(digest, entry),
    );
    return entry;
  }

  #refresh(digest: string, entry: Entry, run: Run): void {
    const readAt = performance.now();
    readOwner(digest, run).then(
      (owner) => {
        if (this.#known.peek(digest) !== entry) return;
        if (owner) this.#known.set(digest, { owner: Promise.resolve(owner), readAt, refreshing: false });
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

async function readOwner(digest: string, run: Run): Promise<Owner | undefined> {
  const [row] = await run(selectOwner, { digest: Buffer.from(digest, 'hex') });
  return row && { application: row.application, isDeleted: row.deletedAt !== null };
}

const selectOwner: Statement<{ application: Application; deletedAt: Date | null }[]> = (db) =>
  db
    .select({
      application: {
        id: applications.id,
        name: applications.name,
        clientId: applications.clientId,
        redirectUris: applications.redirectUris,
      },
      deletedAt: applications.deletedAt,
    })
    .from(apiKeys)
    .innerJoin(applications, eq(applications.id, apiKeys.applicationId))
    .where(and(eq(apiKeys.digest, sql.placeholder('digest')), isNull(apiKeys.revokedAt)))
    .prepare('select_api_key_owner');
