import { eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { cutoffAt, endUserSessions } from '../sessions/cutoffs.ts';
import { endLateSessions } from '../sessions/late-sessions.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { sessionsRevoked, userMessage } from '../webhooks/user-messages.ts';
import { isExistingUser, pickUser, type User, userColumns } from './user.ts';

const rules = { userId: uuid };

/**
 * Ends the user's sessions and unused auth tokens in every application, and refuses new sign-ins. One who is
 * deactivated already stays so.
 *
 * @throws ServiceError `User not found`
 */
export async function deactivateUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId } = check(request, rules);
  const [found] = await call.run(markDeactivated, { userId, ...cutoffAt(call.now) });
  if (!found) throw new ServiceError('USER_NOT_FOUND');
  announce(call.onMessage, found);
  await endLateSessions(call, userId);
  return found.user;
}

const markDeactivated: Statement<({ user: User } & HasMessages)[]> = (db) => {
  const before = db
    .$with('before')
    .as(
      db
        .select({ id: users.id, deactivatedAt: users.deactivatedAt })
        .from(users)
        .where(isExistingUser)
        .for('no key update'),
    );
  const deactivated = db.$with('deactivated').as(
    db
      .update(users)
      .set({ deactivatedAt: sql`coalesce(${users.deactivatedAt}, ${instantPlaceholder('now')})` })
      .from(before)
      .where(eq(users.id, before.id))
      .returning(userColumns),
  );
  const changed = sql`(
    select deactivated.* from deactivated inner join before on before.deactivated_at is null)`;
  const from = sql`${changed} as changed`;
  const audit = insertAuditEvent(db, { resource: sql`id`, from, applicationId: noApplication });
  const message = insertMessages(db, sessionsRevoked(sql`ended`), userMessage('user.deactivated', changed));
  return db
    .with(before, deactivated, audit, ...endUserSessions(db, sql`${deactivated}`), message)
    .select({ user: pickUser(deactivated), notifiedIds })
    .from(deactivated)
    .prepare('mark_user_deactivated');
};
