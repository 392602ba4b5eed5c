/**
 * Cut-offs: a revocation writes an instant, and what was authenticated up to then has ended. Deleting the session alone
 * would leave auth tokens that begin another one, and miss an exchange that inserts afterwards.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Db } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { sessionCutoffs, sessions, userCutoffs } from '../../database/session-schema.ts';

/** Stands for all users of an application. */
const EVERY_USER = sql`'00000000-0000-0000-0000-000000000000'::uuid`;

/**
 * What a cut-off ends expires by itself within 15 minutes, since it can be neither exchanged nor renewed. The rest of
 * the hour is for clocks that differ.
 */
const CUTOFF_LIFETIME_MS = 60 * 60_000;

/** Returns the instants that a statement with a cut-off takes. */
export function cutoffAt(now: Date): { now: Date; cutoffExpiresAt: Date } {
  return { now, cutoffExpiresAt: new Date(now.getTime() + CUTOFF_LIFETIME_MS) };
}

/** Returns the latest cut-off of the user in the application, or null. Placeholder: applicationId. */
export function latestCutoff(userId: SQLWrapper): SQL {
  return sql`greatest(
    (select max(${sessionCutoffs.cutoffAt}) from ${sessionCutoffs}
      where ${sessionCutoffs.applicationId} = ${sql.placeholder('applicationId')}
        and ${sessionCutoffs.userId} in (${userId}, ${EVERY_USER})),
    (select ${userCutoffs.cutoffAt} from ${userCutoffs} where ${userCutoffs.userId} = ${userId}))`;
}

/** Returns whether the instant of authentication is later than the cut-off, if there is one. */
export function isLater(authenticatedAt: SQLWrapper, cutoff: SQLWrapper): SQL {
  return sql`${authenticatedAt} > coalesce(${cutoff}, '-infinity')`;
}

const returningEnded = sql`returning ${sessions.applicationId}, ${sessions.userId}, ${sessions.expiresAt}`;

/**
 * Returns the CTEs `cutoff` and `ended`, which write a cut-off and delete the session, for the `user_id` that `source`
 * has, if any. Its `authenticated_at`, which may be null, is ended even if the clock that it came from is ahead.
 * Placeholders: applicationId, now, cutoffExpiresAt.
 */
export function endSessions(db: Db, source: SQL) {
  const applicationId = sql.placeholder('applicationId');
  const instant = sql`greatest(${instantPlaceholder('now')}, source.authenticated_at)`;
  return [
    upsertCutoff(
      db,
      sql`${sessionCutoffs} (application_id, user_id, cutoff_at, expires_at)
        select ${applicationId}::uuid, source.user_id, ${instant}, ${instantPlaceholder('cutoffExpiresAt')}::timestamptz
        from ${source} as source
        on conflict (application_id, user_id)`,
      sessionCutoffs,
    ),
    db.$with('ended', {}).as(sql`
      delete from ${sessions} using ${source} as source
      where ${sessions.applicationId} = ${applicationId} and ${sessions.userId} = source.user_id
        and ${sessions.authenticatedAt} <= ${instant}
      ${returningEnded}`),
  ];
}

/**
 * Returns the CTE `cutoff`, which writes a cut-off for all users of the application that `source` has as `id`.
 * Placeholders: now, cutoffExpiresAt.
 */
export function endApplicationSessions(db: Db, source: SQL) {
  return upsertCutoff(
    db,
    sql`${sessionCutoffs} (application_id, user_id, cutoff_at, expires_at)
      select source.id, ${EVERY_USER}, ${instantPlaceholder('now')}::timestamptz,
        ${instantPlaceholder('cutoffExpiresAt')}::timestamptz
      from ${source} as source
      on conflict (application_id, user_id)`,
    sessionCutoffs,
  );
}

/**
 * Returns the CTEs `cutoff` and `ended`, which write a cut-off in every application and delete the sessions, for the
 * user that `source` has as `id`. Placeholders: now, cutoffExpiresAt.
 */
export function endUserSessions(db: Db, source: SQL) {
  return [
    upsertCutoff(
      db,
      sql`${userCutoffs} (user_id, cutoff_at, expires_at)
        select source.id, ${instantPlaceholder('now')}::timestamptz, ${instantPlaceholder('cutoffExpiresAt')}::timestamptz
        from ${source} as source
        on conflict (user_id)`,
      userCutoffs,
    ),
    db.$with('ended', {}).as(sql`
      delete from ${sessions} using ${source} as source where ${sessions.userId} = source.id ${returningEnded}`),
  ];
}

/** A cut-off moves forward only. */
function upsertCutoff(db: Db, rows: SQL, { cutoffAt, expiresAt }: typeof sessionCutoffs | typeof userCutoffs) {
  return db.$with('cutoff', {}).as(sql`
    insert into ${rows} do update set
      cutoff_at = greatest(${cutoffAt}, excluded.cutoff_at), expires_at = greatest(${expiresAt}, excluded.expires_at)`);
}
