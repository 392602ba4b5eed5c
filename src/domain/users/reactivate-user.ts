import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { userMessage } from '../webhooks/user-messages.ts';
import { pickUser, type User, userColumns } from './user.ts';

const rules = { userId: uuid };

/** Lets a deactivated user sign in again. @throws ServiceError `User not found` */
export async function reactivateUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId } = check(request, rules);
  const [reactivated] = await call.run(markActive, { userId, now: call.now });
  if (!reactivated) throw new ServiceError('USER_NOT_FOUND');
  announce(call.onMessage, reactivated);
  return reactivated.user;
}

const markActive: Statement<({ user: User } & HasMessages)[]> = (db) => {
  const reactivated = db.$with('reactivated').as(
    db
      .update(users)
      .set({ deactivatedAt: null })
      .where(and(eq(users.id, sql.placeholder('userId')), isNull(users.deletedAt)))
      .returning(userColumns),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`reactivated`, applicationId: noApplication });
  const message = insertMessages(db, userMessage('user.updated', sql`${reactivated}`));
  return db
    .with(reactivated, audit, message)
    .select({ user: pickUser(reactivated), notifiedIds })
    .from(reactivated)
    .prepare('mark_user_active');
};
