import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { cutoffAt, endUserSessions } from '../sessions/cutoffs.ts';
import { endLateSessions } from '../sessions/late-sessions.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { sessionsRevoked, userDeleted } from '../webhooks/user-messages.ts';
import { isExistingUser } from './user.ts';

const rules = { userId: uuid };

/**
 * Soft-deletes a user and ends the user's sessions. The row stays for the webhooks that the user owns.
 *
 * @throws ServiceError `User not found`
 */
export async function deleteUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<string> {
  const { userId } = check(request, rules);
  const [deleted] = await call.run(markDeleted, { userId, ...cutoffAt(call.now) });
  if (!deleted) throw new ServiceError('USER_NOT_FOUND');
  announce(call.onMessage, deleted);
  await endLateSessions(call, userId);
  return userId;
}

const markDeleted: Statement<HasMessages[]> = (db) => {
  const deleted = db.$with('deleted').as(
    db
      .update(users)
      .set({ deletedAt: instantPlaceholder('now') })
      .where(isExistingUser)
      .returning({ id: users.id }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`deleted`, applicationId: noApplication });
  const message = insertMessages(db, sessionsRevoked(sql`ended`), userDeleted(sql`${deleted}`));
  return db
    .with(deleted, audit, ...endUserSessions(db, sql`${deleted}`), message)
    .select({ notifiedIds })
    .from(deleted)
    .prepare('mark_user_deleted');
};
