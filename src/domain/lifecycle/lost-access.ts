/**
 * Ends the sign-ins of users who may no longer enter a restricted application. The statement that takes the access away
 * writes a cut-off for each of them. Afterwards they are looked at once more: a sign-in, or another removal, that ran at
 * the same time has seen the access that the statement was about to take away.
 */
import { type SQL, sql } from 'drizzle-orm';
import { presentInstant } from '../../database/sql/instants.ts';
import { p, statement, t } from '../../database/sql/template.ts';
import { grantedByGroups } from '../access/has-access.ts';
import type { Call } from '../core/call.ts';
import {
  announce,
  HAS_MESSAGES,
  type HasMessages,
  type Message,
  messagesOf,
  notified,
} from '../outbox/insert-message.ts';
import { HERE, loggedOutIfKnown, loggedOutOfSessions } from '../outbox/logout-message.ts';
import { sessionRevoked, sessionsRevoked } from '../outbox/user-messages.ts';
import { cutOffSessions, onConflictMove, runCutoff } from '../sessions/cutoffs.ts';

const BATCH = 500;

/** A user who may have lost the access to an application. */
export type Affected = readonly [applicationId: string, userId: string];

/** The row type of `affectedUsers`. */
export const AFFECTED = { affected: t.json<readonly Affected[]>(), ...HAS_MESSAGES };

/** Lists the rows of the CTE `affected`, and the messages of the statement. */
export const affectedUsers = sql`
  array_to_json(array(select json_build_array(application_id, user_id) from affected)) as affected, ${notified}`;

/**
 * Returns the CTEs `added_here`, `lost`, `cutoff` and `ended`. They write a cut-off for each row of the CTE `affected`,
 * which has the columns `application_id` and `user_id`, unless the user may still enter the application, and delete the
 * session. Parameters: now, cutoffExpiresAt, instant.
 *
 * @param isLeft the condition that a row `m` of `group_members` and a row `g` of `application_groups` stay
 */
export function cutOffLost(isLeft?: SQL): SQL {
  return sql`added_here as (
    select x.application_id, x.user_id from affected f
      -- Equivalent: conjunct: of more rows, each user finds the own one
      join added_users x on x.application_id = f.application_id and x.user_id = f.user_id
  ), lost as (
    select distinct f.application_id, f.user_id
    from affected f
    where (select a.restrict_access and a.deleted_at is null from applications a where a.id = f.application_id)
      and not exists (
      select 1 from added_here h where h.application_id = f.application_id and h.user_id = f.user_id
    ) and not exists (${grantedByGroups(sql`f.application_id`, sql`f.user_id`, isLeft)})
  ), cutoff as (
    insert into session_cutoffs as c (application_id, user_id, cutoff_at, expires_at)
    select application_id, user_id, ${presentInstant}, ${p.instant('cutoffExpiresAt')}
    -- In one order, so that no two statements wait for each other.
    from lost order by application_id, user_id
    ${onConflictMove(sql`application_id, user_id`, sql`c.application_id, c.user_id, c.cutoff_at`)}
  ), ended as (
    delete from sessions s using cutoff
    where s.application_id = cutoff.application_id and s.user_id = cutoff.user_id
      and s.authenticated_at <= cutoff.cutoff_at
    returning s.application_id, s.user_id, s.expires_at
  ), signed_in as (
    select u.application_id, u.user_id from lost
      join application_users u on u.application_id = lost.application_id and u.user_id = lost.user_id
  )`;
}

/** The messages about what `cutOffLost` has ended, to applications that a user has signed in to. One for each user. */
export const lossMessages: readonly Message[] = [
  { ...sessionsRevoked(sql`ended`), part: sql`ended.user_id` },
  ...loggedOutOfSessions(sql`signed_in`).map((message) => ({ part: sql`gone.user_id`, ...message })),
];

/** Runs a statement that takes access away, and looks at the users once more. Returns the row of the statement. */
export async function endLostAccess<Row extends HasMessages & { readonly affected: readonly Affected[] }>(
  call: Call,
  [found]: readonly Row[],
): Promise<Row | undefined> {
  if (!found) return undefined;
  announce(call.onMessage, found);
  await cutOffRefused(call, found.affected);
  return found;
}

/** Ends the sign-ins of those users who may not enter their restricted application. */
export async function cutOffRefused(call: Call, affected: readonly Affected[]): Promise<void> {
  for (let at = 0; at < affected.length; at += BATCH) {
    const batch = affected.slice(at, at + BATCH);
    const applicationIds = batch.map(([id]) => id);
    const userIds = batch.map(([, id]) => id);
    const [ended] =
      new Set(applicationIds).size === 1
        ? await runCutoff(call, cutOffOfOne, { applicationId: applicationIds[0], userIds })
        : await runCutoff(call, cutOff, { applicationIds, userIds });
    if (ended) announce(call.onMessage, ended);
  }
}

const cutOff = statement('cut_off_refused', HAS_MESSAGES)`
  with affected as (
    select * from unnest(${p.uuids('applicationIds')}, ${p.uuids('userIds')}) as given (application_id, user_id)
  ), ${cutOffLost()}, ${messagesOf(...lossMessages)}
  select ${notified}`;

/** The same for users of one application, as calls and jobs need it: a distributed database sends it to one shard. */
const cutOffOfOne = statement('cut_off_refused_of_application', HAS_MESSAGES)`
  with ${cutOffRefusedOfOne()} select ${notified}`.ifDistributed`
  with ${cutOffRefusedOfOne(HERE)} select ${notified}`;

/**
 * Returns CTEs that end the sign-ins of those users who may not enter the application: `lost`, with the users, and
 * `message`. Parameters: applicationId, userIds, now, cutoffExpiresAt, instant.
 *
 * @param claimed a CTE without which nobody is cut off, after a comma
 */
export function cutOffRefusedOfOne(where: Partial<typeof HERE> = {}, claimed = sql``): SQL {
  return sql`added_here as (
    select user_id from added_users
    where application_id = ${p.uuid('applicationId')}
      -- Equivalent: conjunct: of more rows, each user finds the own one
      and user_id = any(${p.uuids('userIds')})
  ), lost as (
    select f.user_id, null::timestamptz as authenticated_at
    from unnest(${p.uuids('userIds')}) as f (user_id)${claimed}
    where (select restrict_access and deleted_at is null from applications where id = ${p.uuid('applicationId')})
      and not exists (select 1 from added_here h where h.user_id = f.user_id)
      and not exists (${grantedByGroups(p.uuid('applicationId'), sql`f.user_id`)})
    -- In one order, so that no two statements wait for each other.
    order by f.user_id
  ), ${cutOffSessions(sql`lost`)}, ${messagesOf(
    { ...sessionRevoked(sql`ended`), part: sql`ended.user_id` },
    ...loggedOutIfKnown(sql`lost`, where).map((message) => ({ part: sql`gone.user_id`, ...message })),
  )}`;
}
