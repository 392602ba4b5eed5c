import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Run, Statement } from '../../database/database.ts';
import { apiKeys, applications } from '../../database/schema.ts';
import type { Application } from '../call.ts';

/** The application of a key, which may have been deleted. */
export interface KeyOwner {
  readonly apiKeyId: string;
  readonly expiresAt: Date | null;
  readonly application: Application;
  readonly isDeleted: boolean;
}

/** The shortest interval between statements, and how many keys one takes. */
const BATCH_INTERVAL_MS = 5;
const MAX_BATCH_SIZE = 1_000;

/**
 * Loads the owners of API keys in batches. The first key after a pause is loaded at once. A flood of
 * guesses costs Postgres at most 200 short statements a second and delays a new key by milliseconds, so
 * unknown keys need no rate limit.
 */
export class ApiKeyLoader {
  readonly #run: Run;
  #batch = new Map<string, PromiseWithResolvers<KeyOwner | undefined>>();
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Takes the key's digest in hex. Resolves to undefined for an unknown or revoked key. */
  load(digest: string): Promise<KeyOwner | undefined> {
    const pending = this.#batch.get(digest);
    if (pending) return pending.promise;
    const load = Promise.withResolvers<KeyOwner | undefined>();
    this.#batch.set(digest, load);
    const delayMs = this.#sentAt + BATCH_INTERVAL_MS - performance.now();
    if (delayMs <= 0 || this.#batch.size >= MAX_BATCH_SIZE) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), delayMs);
    return load.promise;
  }

  async #send(): Promise<void> {
    const batch = this.#batch;
    this.#batch = new Map();
    this.#sentAt = performance.now();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      const rows = await this.#run(selectKeyOwners, { digests: `{${[...batch.keys()].join()}}` });
      for (const { digest, deletedAt, ...owner } of rows) {
        batch.get(digest)?.resolve({ ...owner, isDeleted: deletedAt !== null });
      }
      for (const { resolve } of batch.values()) resolve(undefined);
    } catch (error) {
      for (const { reject } of batch.values()) reject(error);
    }
  }
}

type KeyOwnerRow = Omit<KeyOwner, 'isDeleted'> & { digest: string; deletedAt: Date | null };

const selectKeyOwners: Statement<KeyOwnerRow[]> = (db) => {
  const digests = sql`array(select decode(hex, 'hex') from unnest(${sql.placeholder('digests')}::text[]) as hex)`;
  return db
    .select({
      digest: sql<string>`encode(${apiKeys.digest}, 'hex')`,
      apiKeyId: apiKeys.id,
      expiresAt: apiKeys.expiresAt,
      application: {
        id: applications.id,
        name: applications.name,
        clientId: applications.clientId,
        redirectUris: applications.redirectUris,
        sessionMaxAgeSeconds: applications.sessionMaxAgeSeconds,
      },
      deletedAt: applications.deletedAt,
    })
    .from(apiKeys)
    .innerJoin(applications, eq(applications.id, apiKeys.applicationId))
    .where(and(sql`${apiKeys.digest} = any(${digests})`, isNull(apiKeys.revokedAt)))
    .prepare('select_api_key_owners');
};
