/**
 * A revocation writes a cut-off: an instant that ends everything that comes from sign-ins up to it. Deleting the
 * session would not be enough: unused auth tokens and concurrent exchanges could still begin another session.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { PlaceholderValues, Statement } from '../../database/pool/database.ts';
import { BY_POSTGRES, presentInstant } from '../../database/sql/instants.ts';
import { p } from '../../database/sql/template.ts';
import { pause } from '../../pause.ts';
import { isRefused } from '../access/has-access.ts';
import type { Call } from '../core/call.ts';
import { leaveUnfinished, unfinishedParameters } from '../core/unfinished-changes.ts';
import { isActiveUser } from '../users/user.ts';
import { forgetSignIns } from './forget-sign-ins.ts';

/** In place of a user ID, stands for all users of an application. */
export const EVERY_USER = sql`'00000000-0000-0000-0000-000000000000'`;

/**
 * In place of a user ID, stands for all users whom a restricted application refuses. The row is stored when many lose the
 * access at once, and goes when a job has written a cut-off for each of them. Until then it ends all their sign-ins.
 */
export const EVERY_REFUSED = sql`'00000000-0000-0000-0000-000000000001'`;

/**
 * In place of a user ID, stands for a change of the application that may end tokens by a rule, such as a raised level of
 * assurance. The row ends nothing by itself: it tells readers of revocations to ask again.
 */
export const EVERY_RULE = sql`'00000000-0000-0000-0000-000000000002'`;

/** No sign-in counts for more than a year, so its cut-off can go then. One more day is for clocks that differ. */
export const CUTOFF_LIFETIME_MS = 366 * 24 * 60 * 60_000;

/** More than one: sign-ins and cut-offs are in milliseconds, and a timer may fire one millisecond early. */
const TICK_MS = 2;

/** Runs a statement that writes a cut-off, which is kept for `lifetimeMs`. Once this has resolved, every new sign-in is later than the cut-off. */
export async function runCutoff<Rows>(
  { run, now }: Call,
  statement: Statement<Rows>,
  parameters: PlaceholderValues,
  lifetimeMs = CUTOFF_LIFETIME_MS,
): Promise<Rows> {
  const cutoffExpiresAt = new Date(now.getTime() + lifetimeMs);
  const rows = await run(statement, {
    ...unfinishedParameters(now),
    ...parameters,
    ...BY_POSTGRES,
    now,
    cutoffExpiresAt,
  });
  await pause(TICK_MS);
  return rows;
}

/** Returns the latest cut-off of the user in the application, or `-infinity`. Parameter: applicationId. */
export function latestCutoff(userId: SQLWrapper): SQL {
  return latestOr(isRefusedNow(p.uuid('applicationId'), userId), userId);
}

/**
 * Returns the same for a session or grant that begins or is renewed: whoever may not enter a restricted application is
 * cut off for ever. Parameter: applicationId.
 */
export function latestCutoffOfAllowed(userId: SQLWrapper): SQL {
  return latestOr(isRefused(p.uuid('applicationId'), userId), userId);
}

/** Returns the same without that of users who are refused, for statements that refuse them by themselves. */
export function latestOwnCutoff(userId: SQLWrapper): SQL {
  return latestOr(undefined, userId);
}

function latestOr(isCutOff: SQL | undefined, userId: SQLWrapper): SQL {
  const infinity = isCutOff ? sql`case when ${isCutOff} then 'infinity'::timestamptz end, ` : sql``;
  return sql`greatest(
    (select max(cutoff_at) from session_cutoffs
    where application_id = ${p.uuid('applicationId')} and user_id in (${userId}, ${EVERY_USER})),
    (select cutoff_at from user_cutoffs where user_id = ${userId}), ${infinity}'-infinity')`;
}

/** Returns the condition that the user is one of those whom `cutOffEveryRefused` has ended. */
export function isRefusedNow(applicationId: SQLWrapper, userId: SQLWrapper): SQL {
  return sql`exists (
      select 1 from session_cutoffs r where r.application_id = ${applicationId} and r.user_id = ${EVERY_REFUSED}
    ) and ${isRefused(applicationId, userId)}`;
}

/**
 * Returns the condition that a sign-in in the browser is from before a cut-off of `cutOffSid`. Parameter:
 * applicationId.
 */
export function isSidCutOff(sid: SQL, authenticatedAt: SQL): SQL {
  return sql`exists (
    select 1 from session_cutoffs c where c.application_id = ${p.uuid('applicationId')} and c.user_id = ${sid}
      and c.cutoff_at >= ${authenticatedAt})`;
}

/**
 * Returns the condition that the row of `users` is the active user `userId`, and that no cut-off has ended a sign-in at
 * the given instant. Parameters: applicationId, userId.
 */
export function isSignInAfterEveryCutoff(authenticatedAt: SQL): SQL {
  return sql`users.id = ${p.uuid('userId')} and ${isActiveUser} and ${authenticatedAt} > ${latestCutoff(sql`users.id`)}`;
}

/** The condition that no cut-off of its user has ended a row of `oidc_grants`, whatever its application. */
export const isGrantAfterOwnCutoffs = sql`not exists (
    select 1 from session_cutoffs c where c.application_id = oidc_grants.application_id
      and c.user_id in (oidc_grants.user_id, ${EVERY_USER}) and c.cutoff_at >= oidc_grants.authenticated_at
  ) and not exists (
    select 1 from user_cutoffs c where c.user_id = oidc_grants.user_id and c.cutoff_at >= oidc_grants.authenticated_at
  )`;

/** The condition that no cut-off at all has ended it. */
export const isGrantAfterEveryCutoff = sql`${isGrantAfterOwnCutoffs}
  and not (${isRefusedNow(sql`oidc_grants.application_id`, sql`oidc_grants.user_id`)})`;

/**
 * The condition that nothing has ended all sign-ins of the user since the one in which the row `c` of `consents` was
 * given. Otherwise, what an intruder has allowed would outlive the intruder.
 */
export const isConsentAfterCutoff = sql`not exists (
    select 1 from user_cutoffs u
    where u.user_id = c.user_id and u.cutoff_at >= coalesce(c.authenticated_at, c.created_at))`;

/**
 * Returns the CTEs `cutoff` and `ended`. They write a cut-off for the user in the row of the CTE `target`, if any, and
 * delete the user's session. The columns of `target` are `user_id` and `authenticated_at`, which may be null. The
 * cut-off is not before `authenticated_at`, because that instant may come from a clock that is ahead. Parameters:
 * applicationId, cutoffExpiresAt, instant.
 */
export function cutOffSessions(target: SQL): SQL {
  return sql`cutoff as (
    insert into session_cutoffs as c (application_id, user_id, cutoff_at, expires_at)
    select ${p.uuid('applicationId')}, user_id, greatest(authenticated_at, ${presentInstant}),
      ${p.instant('cutoffExpiresAt')}
    from ${target} ${onConflictMove(sql`application_id, user_id`)}
  ), ended as (
    delete from sessions s using cutoff
    where s.application_id = ${p.uuid('applicationId')} and s.user_id = cutoff.user_id
      and s.authenticated_at <= cutoff.cutoff_at
    returning s.application_id, s.user_id, s.expires_at
  )`;
}

/**
 * Returns the CTE `cutoff`. It writes a cut-off for all users of an application, whose ID is the column `id` of the CTE
 * `target`.
 * Parameters: cutoffExpiresAt, instant.
 */
export function cutOffApplicationSessions(target: SQL): SQL {
  return sql`cutoff as (
    insert into session_cutoffs as c (application_id, user_id, cutoff_at, expires_at)
    select id, ${EVERY_USER}, ${presentInstant}, ${p.instant('cutoffExpiresAt')}
    from ${target} ${onConflictMove(sql`application_id, user_id`)}
  )`;
}

/**
 * Returns the CTE `refused`. It ends the sign-ins of all users who may not enter the restricted applications whose IDs
 * are the column `application_id` of the CTE `target`, also of those who lose the access by the same statement.
 * Parameter: cutoffExpiresAt.
 */
export function cutOffEveryRefused(target: SQL): SQL {
  return sql`refused as (
    insert into session_cutoffs as c (application_id, user_id, cutoff_at, expires_at)
    select application_id, ${EVERY_REFUSED}, 'infinity', ${p.instant('cutoffExpiresAt')}
    from ${target} ${onConflictMove(sql`application_id, user_id`)}
  )`;
}

/**
 * Returns the CTE `asked_again`, which tells readers of revocations to ask again.
 * Parameter: cutoffExpiresAt.
 *
 * @param target selects IDs of applications
 */
export function askAgain(target: SQL): SQL {
  return sql`asked_again as (
    insert into session_cutoffs as c (application_id, user_id, cutoff_at, expires_at)
    select id, ${EVERY_RULE}, '-infinity', ${p.instant('cutoffExpiresAt')} from (${target}) t
    ${onConflictMove(sql`application_id, user_id`)}
  )`;
}

/**
 * Returns the CTE `reopened`, which takes that back where cut-offs of users stand for it now, unless it was written once
 * more. Parameter: cutoffExpiresAt.
 *
 * @param target selects the IDs of the applications
 */
export function removeCutoffOfRefused(target: SQL): SQL {
  return sql`reopened as (
    delete from session_cutoffs c where c.application_id in (${target}) and c.user_id = ${EVERY_REFUSED}
      and c.expires_at <= ${p.instant('cutoffExpiresAt')}
  )`;
}

/**
 * Returns the CTE `cutoff`. It writes a cut-off for one browser of a user, which stands in the place of a user ID. What
 * `target` selects has the columns `sid` and `cutoff_at`. Parameters: applicationId, cutoffExpiresAt.
 */
export function cutOffSid(target: SQL): SQL {
  return sql`cutoff as (
    insert into session_cutoffs as c (application_id, user_id, cutoff_at, expires_at)
    select ${p.uuid('applicationId')}, sid, cutoff_at, ${p.instant('cutoffExpiresAt')}
    from ${target} ${onConflictMove(sql`application_id, user_id`)}
  )`;
}

/**
 * Returns the CTEs `ended`, `held_ended`, `cutoff`, `consents_ended`, `forgotten` and `unfinished`. They delete the
 * sessions, consents, held and remembered sign-ins of a user, and write a cut-off for every application. A job looks for what comes later.
 * `isConsentAfterCutoff` ends a consent that is given meanwhile; the cut-off expires, so it does not suffice for the
 * others. The CTE `target` has locked the user, whose ID is its column `id`, and added
 * one to `cutoff_count`. A sign-in before the lock is ended, too. Parameters: cutoffExpiresAt, instant.
 */
export function cutOffUserSessions(target: SQL): SQL {
  return sql`ended as (
    delete from sessions s using ${target} t where s.user_id = t.id
    returning s.application_id, s.user_id, s.expires_at, s.authenticated_at
  ), held_ended as (
    -- Before the instant of the cut-off: who deletes the row first completes the sign-in, or ends it.
    delete from held_sign_ins h using ${target} t where h.user_id = t.id
    returning h.proved_at
  ), cutoff as (
    insert into user_cutoffs as c (user_id, cutoff_at, expires_at)
    select id, greatest((select max(authenticated_at) from ended), (select max(proved_at) from held_ended),
      ${presentInstant}), ${p.instant('cutoffExpiresAt')}
    from ${target} ${onConflictMove(sql`user_id`)}
  ), consents_ended as (
    delete from consents c using ${target} t where c.user_id = t.id
  ), ${forgetSignIns(target, sql`r.user_id = t.id`)}, ${leaveUnfinished('user', { from: target, subjectId: sql`id` })}`;
}

/** Returns the clauses after an insert into a table of cut-offs. An existing one only moves forward. */
export function onConflictMove(key: SQL, returned = sql`c.user_id, c.cutoff_at`): SQL {
  return sql`
    on conflict (${key}) do update set
      cutoff_at = greatest(c.cutoff_at, excluded.cutoff_at), expires_at = greatest(c.expires_at, excluded.expires_at),
      changed_at = greatest(c.changed_at, excluded.changed_at)
    returning ${returned}`;
}
