/**
 * Cut-offs: a revocation writes an instant, and what was authenticated up to then has ended. Deleting the session alone
 * would leave auth tokens that begin another one, and miss an exchange that inserts afterwards.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Db, PlaceholderValues, Statement } from '../../database/database.ts';
import { BY_POSTGRES, presentInstant } from '../../database/instants.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { sessionCutoffs, sessions, userCutoffs } from '../../database/session-schema.ts';
import { p } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { pause } from '../pause.ts';

/** Stands for all users of an application. */
const EVERY_USER = sql`'00000000-0000-0000-0000-000000000000'::uuid`;

/**
 * What a cut-off ends expires by itself within 15 minutes, since it can be neither exchanged nor renewed. The rest of
 * the hour is for clocks that differ.
 */
const CUTOFF_LIFETIME_MS = 60 * 60_000;

/** At least a millisecond, the unit of authentications and cut-offs. Timers may be early by one. */
const TICK_MS = 2;

/** Returns what a statement with a cut-off takes. */
export function cutoffAt(now: Date) {
  return { ...BY_POSTGRES, now, cutoffExpiresAt: new Date(now.getTime() + CUTOFF_LIFETIME_MS) };
}

/** Runs a statement with a cut-off. When it returns, an authentication that begins is later than the cut-off. */
export async function runCutoff<Rows>(
  { run, now }: Call,
  statement: Statement<Rows>,
  parameters: PlaceholderValues,
): Promise<Rows> {
  const rows = await run(statement, { ...parameters, ...cutoffAt(now) });
  await pause(TICK_MS);
  return rows;
}

/** Returns the latest cut-off of the user in the application, or `-infinity`. Parameter: applicationId. */
export function latestCutoff(userId: SQLWrapper): SQL {
  return sql`coalesce(greatest(
    (select max(c.cutoff_at) from session_cutoffs c
    where c.application_id = ${p.uuid('applicationId')} and c.user_id in (${userId}, ${EVERY_USER})),
    (select c.cutoff_at from user_cutoffs c where c.user_id = ${userId})), '-infinity')`;
}

const returningEnded = sql`returning ${sessions.applicationId}, ${sessions.userId}, ${sessions.expiresAt}`;

/**
 * Returns the CTEs `cutoff` and `ended`, which write a cut-off and delete the session, for the `user_id` that `source`
 * has, if any. Its `authenticated_at`, which may be null, is ended even if the clock that it came from is ahead.
 * Placeholders: applicationId, cutoffExpiresAt, instant.
 */
export function endSessions(db: Db, source: SQL) {
  const applicationId = sql.placeholder('applicationId');
  return [
    upsertCutoff(
      db,
      sql`${sessionCutoffs} (application_id, user_id, cutoff_at, expires_at)
        select ${applicationId}::uuid, source.user_id, greatest(source.authenticated_at, ${presentInstant}),
          ${cutoffExpiresAt}
        from ${source} as source
        on conflict (application_id, user_id)`,
      sessionCutoffs,
    ),
    db.$with('ended', {}).as(sql`
      delete from ${sessions} using cutoff
      where ${sessions.applicationId} = ${applicationId} and ${sessions.userId} = cutoff.user_id
        and ${sessions.authenticatedAt} <= cutoff.cutoff_at
      ${returningEnded}`),
  ];
}

/**
 * Returns the CTE `cutoff`, which writes a cut-off for all users of the application that `source` has as `id`.
 * Placeholders: cutoffExpiresAt, instant.
 */
export function endApplicationSessions(db: Db, source: SQL) {
  return upsertCutoff(
    db,
    sql`${sessionCutoffs} (application_id, user_id, cutoff_at, expires_at)
      select source.id, ${EVERY_USER}, ${presentInstant}, ${cutoffExpiresAt}
      from ${source} as source
      on conflict (application_id, user_id)`,
    sessionCutoffs,
  );
}

/**
 * Returns the CTEs `ended` and `cutoff`, which delete the sessions and write a cut-off in every application, for the
 * user that `source` has locked and has as `id`. A sign-in that has come before the lock is ended, too.
 * Placeholders: cutoffExpiresAt, instant.
 */
export function endUserSessions(db: Db, source: SQL) {
  return [
    db.$with('ended', {}).as(sql`
      delete from ${sessions} using ${source} as source where ${sessions.userId} = source.id
      ${returningEnded}, ${sessions.authenticatedAt}`),
    upsertCutoff(
      db,
      sql`${userCutoffs} (user_id, cutoff_at, expires_at)
        select source.id, greatest((select max(authenticated_at) from ended), ${presentInstant}), ${cutoffExpiresAt}
        from ${source} as source
        on conflict (user_id)`,
      userCutoffs,
    ),
  ];
}

const cutoffExpiresAt = sql`${instantPlaceholder('cutoffExpiresAt')}::timestamptz`;

/** A cut-off moves forward only. */
function upsertCutoff(db: Db, rows: SQL, { cutoffAt, userId, expiresAt }: typeof sessionCutoffs | typeof userCutoffs) {
  return db.$with('cutoff', {}).as(sql`
    insert into ${rows} do update set
      cutoff_at = greatest(${cutoffAt}, excluded.cutoff_at), expires_at = greatest(${expiresAt}, excluded.expires_at)
    returning ${userId}, ${cutoffAt}`);
}
