import { isNotNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { endUserSessions, runCutoff } from '../sessions/cutoffs.ts';
import { endLateSessions } from '../sessions/late-sessions.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { userMessage } from '../webhooks/user-messages.ts';
import type { ChangedUser } from './change-user.ts';
import { isExistingUser, pickUser, type User, userColumns } from './user.ts';

const rules = { userId: uuid };

/**
 * Lets a deactivated user sign in again, and ends what the user has begun before. One who is active stays so.
 *
 * @throws ServiceError `User not found`
 */
export async function reactivateUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId } = check(request, rules);
  const [reactivated] = await runCutoff(call, markActive, { userId });
  if (!reactivated) throw new ServiceError('USER_NOT_FOUND');
  announce(call.onMessage, reactivated);
  await endLateSessions(call, userId);
  return reactivated.user;
}

const markActive: Statement<ChangedUser[]> = (db) => {
  // Locked, so that it is the user whom a deactivation leaves that this statement has waited for.
  const target = db
    .$with('target')
    .as(db.select(userColumns).from(users).where(isExistingUser).for('update', { of: users }));
  const changed = db.$with('changed').as(
    db
      .update(users)
      .set({ deactivatedAt: null })
      .from(target)
      .where(sql`${users.id} = ${target.id} and ${isNotNull(target.deactivatedAt)}`)
      .returning(userColumns),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`changed`, applicationId: noApplication });
  const message = insertMessages(db, userMessage('user.updated', sql`${changed}`));
  return db
    .with(target, changed, audit, ...endUserSessions(db, sql`${changed}`), message)
    .select({
      user: { ...pickUser(target), deactivatedAt: sql<null>`null` },
      notifiedIds,
    })
    .from(target)
    .prepare('mark_user_active');
};
