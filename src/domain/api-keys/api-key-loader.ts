import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Run, Statement } from '../../database/database.ts';
import { apiKeys, applications } from '../../database/schema.ts';
import type { Application } from '../call.ts';

/** The owner of a key: an application, or one that has been deleted since. */
export interface KeyOwner {
  readonly application: Application;
  readonly isDeleted: boolean;
}

/** How long a statement gathers keys when there has just been another, and how many it takes. */
const GATHER_MS = 5;
const MAX_KEYS = 1_000;

/**
 * Looks up whose API keys are, many with one statement. The first key after a pause goes at once;
 * whatever flood of guesses follows costs Postgres some 200 short statements a second, and holds a
 * new key up by a few milliseconds. So nobody has to be turned away unheard.
 */
export class ApiKeyLoader {
  readonly #run: Run;
  #waiting = new Map<string, PromiseWithResolvers<KeyOwner | undefined>>();
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Takes the key's digest in hex. Resolves to undefined for a key that is nobody's any more, or never was. */
  ownerOf(digest: string): Promise<KeyOwner | undefined> {
    const waiting = this.#waiting.get(digest);
    if (waiting) return waiting.promise;
    const lookUp = Promise.withResolvers<KeyOwner | undefined>();
    this.#waiting.set(digest, lookUp);
    const gatherMs = this.#sentAt + GATHER_MS - performance.now();
    if (gatherMs <= 0 || this.#waiting.size >= MAX_KEYS) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), gatherMs);
    return lookUp.promise;
  }

  async #send(): Promise<void> {
    const lookUps = this.#waiting;
    this.#waiting = new Map();
    this.#sentAt = performance.now();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      const rows = await this.#run(selectKeyOwners, { digests: `{${[...lookUps.keys()].join()}}` });
      for (const { digest, application, deletedAt } of rows) {
        lookUps.get(digest)?.resolve({ application, isDeleted: deletedAt !== null });
      }
      for (const { resolve } of lookUps.values()) resolve(undefined);
    } catch (error) {
      for (const { reject } of lookUps.values()) reject(error);
    }
  }
}

const selectKeyOwners: Statement<{ digest: string; application: Application; deletedAt: Date | null }[]> = (db) => {
  const digests = sql`array(select decode(hex, 'hex') from unnest(${sql.placeholder('digests')}::text[]) as hex)`;
  return db
    .select({
      digest: sql<string>`encode(${apiKeys.digest}, 'hex')`,
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
    .where(and(sql`${apiKeys.digest} = any(${digests})`, isNull(apiKeys.revokedAt)))
    .prepare('select_api_key_owners');
};
