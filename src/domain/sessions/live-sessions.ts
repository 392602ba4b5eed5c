import { sql } from 'drizzle-orm';
import type { Run } from '../../database/pool/database.ts';
import { sessionIds } from '../../database/schema/session-schema.ts';
import { anyOf } from '../../database/sql/any-of.ts';
import { p, statement } from '../../database/sql/template.ts';
import { shownGroups } from '../access/has-access.ts';
import { createApplicationCache } from '../cache/application-cache.ts';
import { createLruCache, type RevalidatingCache } from '../cache/revalidating-cache.ts';
import { latestCutoff } from './cutoffs.ts';
import { lastSignIn, type Session, sessionColumns } from './session.ts';

/** The oldest answer that a caller can accept. */
export const MAX_STALENESS_MS = 5_000;

// Equivalent: limit: nobody counts so many
const MAX_REVOKED = 100_000;

/**
 * Finds live sessions, as fresh as each caller asks. Once an answer says that a session has ended, no later answer says
 * that it is live, even if its caller accepts older answers.
 */
export class LiveSessions {
  readonly #cache: RevalidatingCache<Session>;
  /**
   * When this replica ended the sessions of a user. Entries may expire: by then, no answer that can be used is older.
   */
  readonly #revokedAt = createLruCache<number>(MAX_REVOKED, { ttl: MAX_STALENESS_MS });

  /** @param run reads without the deadline of a caller, because several callers share an answer */
  constructor(run: Run) {
    this.#cache = createApplicationCache(async (applicationId, ids) => {
      const rows = await run(selectSessions, { applicationId, sessionIds: ids });
      return new Map(rows.map(({ id, ...session }) => [id, session]));
    });
  }

  /** Forgets every value. */
  clear(): void {
    this.#cache.clear();
  }

  /** How many sessions the cache knew, and how many had to be looked up. */
  get lookUps() {
    return this.#cache.lookUps;
  }

  /**
   * Returns the session if no revocation has ended it; it may have expired.
   *
   * @param sessionId a UUID in lower case
   */
  async find(applicationId: string, sessionId: string, maxStalenessMs: number): Promise<Session | undefined> {
    const key = `${applicationId}/${sessionId}`;
    const ages = { maxAgeMs: maxStalenessMs, refreshAgeMs: maxStalenessMs / 2 };
    const found = await this.#cache.get(key, ages);
    if (!found) return undefined;
    if (this.isCurrent(found.value.userId, found.readAt)) return found.value;
    return (await this.#cache.read(key))?.value;
  }

  /**
   * Returns whether this replica has ended no session of the user since `readAt`, in milliseconds of
   * `performance.now()`.
   */
  isCurrent(userId: string, readAt: number): boolean {
    const revokedAt = this.#revokedAt.get(userId);
    return revokedAt === undefined || readAt > revokedAt;
  }

  /** Makes this replica read the user's sessions again, so that a revocation takes effect here at once. */
  forgetUser(userId: string): void {
    this.#revokedAt.set(userId, performance.now());
  }
}

/** Selects the sessions that no revocation has ended; some may have expired. */
const selectSessions = statement('select_sessions', { ...sessionColumns, id: sessionIds.id })`
  select i.id, i.created_at, i.expires_at, s.user_id, s.email, s.name, s.profile_image, s.wallet_address, s.attributes, s.ip_address,
    s.user_agent, s.method, s.assurance, s.on_behalf_by, ${lastSignIn('s')} as auth_time,
    i.authenticated_at as signed_in_at,
    ${shownGroups(p.uuid('applicationId'), sql`i.user_id`)} as groups
  from session_ids i
    join users u on u.id = i.user_id
    join sessions s on s.application_id = i.application_id and s.user_id = i.user_id
  where i.application_id = ${p.uuid('applicationId')} and u.deleted_at is null and u.deactivated_at is null
    and i.authenticated_at > ${latestCutoff(sql`i.user_id`)}
    -- Equivalent: conjunct: of more rows, each caller gets its own
    and i.id = ${anyOf(p.uuids('sessionIds'))}`;
