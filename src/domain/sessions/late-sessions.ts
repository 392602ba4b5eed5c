/**
 * A session is late if it is inserted while a revocation commits. Neither statement sees the other's row. So the
 * session has ended, but its row is not deleted, and webhooks have no message. Both callers look again afterwards: the
 * second one to do so sees both rows.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { Statement } from '../../database/pool/database.ts';
import { p, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { announce, HAS_MESSAGES, type HasMessages, messagesOf, notified } from '../outbox/insert-message.ts';
import { HERE, loggedOut, loggedOutOfSessions } from '../outbox/logout-message.ts';
import { sessionRevoked, sessionsRevoked } from '../outbox/user-messages.ts';
import { keepUserCutoff } from '../users/personal-data.ts';
import { isErasedUser } from '../users/user.ts';
import { latestCutoff } from './cutoffs.ts';

interface LateSession {
  /** Whether the user has been erased meanwhile. */
  readonly isOfErased: boolean;
}

/**
 * Deletes the user's session in the application if it is late, and inserts its messages. Returns undefined if it is not
 * late. With `mayRemoveUser`, the user is also removed from the application if this session was the first there.
 */
export async function endLateSession(
  call: Call,
  { applicationId, userId, mayRemoveUser }: { applicationId: string; userId: string; mayRemoveUser: boolean },
): Promise<LateSession | undefined> {
  const [late] = await call.run(selectLateSession, { applicationId, userId });
  if (late) await end(call, deleteLateSession, { applicationId, userId, mayRemoveUser });
  return late;
}

export function endLateSessions(call: Call, userId: string): Promise<void> {
  return end(call, deleteLateSessions, { userId });
}

async function end({ run, now, onMessage }: Call, statement: Statement<HasMessages[]>, parameters: object) {
  const [ended] = await run(statement, { ...parameters, now });
  if (ended) announce(onMessage, ended);
}

const selectLateSession = statement('select_late_session', { isOfErased: t.boolean })`
  select ${isErasedUser} as is_of_erased
  from users left join sessions s on s.application_id = ${p.uuid('applicationId')} and s.user_id = users.id
  where users.id = ${p.uuid('userId')} and ${isLate(latestCutoff(sql`users.id`))}`;

const deleteLateSession = statement('delete_late_session', HAS_MESSAGES)`
  with late as (
    select s.application_id, s.user_id, s.id from sessions s join users on users.id = s.user_id
    where s.application_id = ${p.uuid('applicationId')} and users.id = ${p.uuid('userId')}
      and ${isLate(latestCutoff(sql`users.id`))}
  ), ${deleteLate(sql`late`)}, left_application as (
    delete from application_users a using ended
    where ${p.boolean('mayRemoveUser')} and a.application_id = ended.application_id and a.user_id = ended.user_id
      and a.first_signed_in_at = ended.began_at
    returning a.application_id, a.user_id
  ), ${keepUserCutoff(sql`select * from left_application`)}, ${messagesOf(sessionRevoked(sql`ended`), ...loggedOut(sql`ended`, HERE))}
  select ${notified}`;

const deleteLateSessions = statement('delete_late_sessions', HAS_MESSAGES)`
  with late as (
    select s.application_id, s.user_id, s.id
    from sessions s join users on users.id = s.user_id left join user_cutoffs c on c.user_id = users.id
    where users.id = ${p.uuid('userId')} and ${isLate(sql`c.cutoff_at`)}
  ), ${deleteLate(sql`late`)}, ${messagesOf(sessionsRevoked(sql`ended`), ...loggedOutOfSessions(sql`ended`))}
  select ${notified}`;

/** Returns the condition that session `s` of a user in `users` is late. */
function isLate(cutoff: SQL): SQL {
  return sql`(users.deleted_at is not null or users.deactivated_at is not null or s.authenticated_at <= ${cutoff})`;
}

/** Returns the CTE `ended`, which deletes late sessions. Sessions that have begun since have other IDs, and stay. */
function deleteLate(late: SQL): SQL {
  return sql`ended as (
    delete from sessions s using ${late} l
    where s.id = l.id
      -- Equivalent: conjunct: the ID is of one row, whose key this is
      and s.application_id = l.application_id and s.user_id = l.user_id
    returning s.application_id, s.user_id, s.began_at, s.expires_at
  )`;
}
