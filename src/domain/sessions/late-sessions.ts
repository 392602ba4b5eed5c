/**
 * Sessions that are inserted while a revocation commits. Neither statement sees the other's row, so the cut-off ends a
 * session that nobody has deleted or told of. Both look again afterwards: whoever comes second sees the other's row.
 */
import { and, eq, lte, not, or, type SQL, sql } from 'drizzle-orm';
import type { Db, Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { applicationUsers, sessions, userCutoffs } from '../../database/session-schema.ts';
import type { Call } from '../call.ts';
import { isActiveUser, isErasedUser } from '../users/user.ts';
import { announce, type HasMessages, insertMessages, type Message, notifiedIds } from '../webhooks/insert-message.ts';
import { sessionRevoked, sessionsRevoked } from '../webhooks/user-messages.ts';
import { latestCutoff } from './cutoffs.ts';

interface LateSession {
  /** Whether the user has been erased meanwhile. */
  readonly isOfErased: boolean;
}

/**
 * Ends the user's session in the application if it is late, and tells of it. Returns undefined if it is not late.
 * `leaves` undoes that the user has joined the application by that session.
 */
export async function endLateSession(
  call: Call,
  { applicationId, userId, leaves }: { applicationId: string; userId: string; leaves: boolean },
): Promise<LateSession | undefined> {
  const [late] = await call.run(selectLateSession, { applicationId, userId });
  if (late) await end(call, deleteLateSession, { applicationId, userId, leaves });
  return late;
}

/** Ends the user's late sessions in every application. */
export function endLateSessions(call: Call, userId: string): Promise<void> {
  return end(call, deleteLateSessions, { userId, leaves: false });
}

async function end({ run, now, onMessage }: Call, statement: Statement<HasMessages[]>, parameters: object) {
  const [ended] = await run(statement, { ...parameters, now });
  if (ended) announce(onMessage, ended);
}

const isActive = sql`${isActiveUser}`;
const isOfApplication = eq(sessions.applicationId, sql.placeholder('applicationId'));
const isLate = or(not(isActive), lte(sessions.authenticatedAt, latestCutoff(users.id)));

const selectLateSession: Statement<LateSession[]> = (db) =>
  db
    .select({ isOfErased: sql<boolean>`${isErasedUser}` })
    .from(users)
    .leftJoin(sessions, and(eq(sessions.userId, users.id), isOfApplication))
    .where(and(eq(users.id, sql.placeholder('userId')), isLate))
    .prepare('select_late_session');

const deleteLateSession: Statement<HasMessages[]> = (db) =>
  deleteLate(db, and(isOfApplication, isLate), sessionRevoked).prepare('delete_late_session');

const deleteLateSessions: Statement<HasMessages[]> = (db) => {
  const cutoff = sql`(select ${userCutoffs.cutoffAt} from ${userCutoffs} where ${userCutoffs.userId} = ${users.id})`;
  const condition = or(not(isActive), lte(sessions.authenticatedAt, cutoff));
  return deleteLate(db, condition, sessionsRevoked).prepare('delete_late_sessions');
};

/** A session that has begun since has another ID. */
function deleteLate(db: Db, condition: SQL | undefined, revoked: Message) {
  const late = db.$with('late', {}).as(sql`
    select ${sessions.applicationId}, ${sessions.userId}, ${sessions.id} from ${sessions}
    inner join ${users} on ${users.id} = ${sessions.userId}
    where ${users.id} = ${sql.placeholder('userId')} and ${condition}`);
  const ended = db.$with('ended', {}).as(sql`
    delete from ${sessions} using late
    where ${sessions.applicationId} = late.application_id and ${sessions.userId} = late.user_id
      and ${sessions.id} = late.id
    returning ${sessions.applicationId}, ${sessions.userId}, ${sessions.beganAt}, ${sessions.expiresAt}`);
  const left = db.$with('left_application', {}).as(sql`
    delete from ${applicationUsers} using ended
    where ${sql.placeholder('leaves')}::boolean and ${applicationUsers.applicationId} = ended.application_id
      and ${applicationUsers.userId} = ended.user_id and ${applicationUsers.firstSignedInAt} = ended.began_at`);
  return db.with(late, ended, left, insertMessages(db, revoked)).select({ notifiedIds }).from(sql`(select) as nothing`);
}
