import { sql } from 'drizzle-orm';
import { matches, type Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { addedUsers, applicationUsers, sessions } from '../../database/session-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { endSessions, runCutoff } from '../sessions/cutoffs.ts';
import { endLateSession } from '../sessions/late-sessions.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { sessionRevoked } from '../webhooks/user-messages.ts';
import { type FoundBoth, foundBoth, requireBoth } from './add-application-user.ts';
import { isExistingUser } from './user.ts';

const rules = { applicationId: uuid, userId: uuid };

/**
 * Takes a user from the application, ends the user's sessions and unused auth tokens there, and returns the user's ID.
 * Webhooks keep their owner.
 *
 * @throws ServiceError `Application not found`, `User not found`
 */
export async function removeApplicationUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<string> {
  const parameters = check(request, rules);
  const found = await runCutoff(call, deleteApplicationUser, parameters);
  requireBoth(found);
  for (const messages of found) announce(call.onMessage, messages);
  await endLateSession(call, { ...parameters, leaves: true });
  return parameters.userId;
}

const deleteApplicationUser: Statement<(FoundBoth & HasMessages)[]> = (db) => {
  const target = db.$with('target', { userId: sql<string>`user_id` }).as(sql`
    select ${users.id} as user_id, ${sessions.authenticatedAt} from ${users}
    left join ${sessions} on ${sessions.applicationId} = ${sql.placeholder('applicationId')}
      and ${sessions.userId} = ${users.id}
    where ${isExistingUser}`);
  const removed = db.$with('removed').as(
    db
      .delete(addedUsers)
      .where(matches(addedUsers, 'applicationId', 'userId'))
      .returning({ userId: addedUsers.userId }),
  );
  const left = db.$with('left_application').as(
    db
      .delete(applicationUsers)
      .where(matches(applicationUsers, 'applicationId', 'userId'))
      .returning({ userId: applicationUsers.userId }),
  );
  const gone = sql`(select user_id from removed union select user_id from left_application) as gone`;
  const audit = insertAuditEvent(db, { resource: sql`user_id`, from: gone });
  const message = insertMessages(db, sessionRevoked(sql`ended`));
  return db
    .with(target, removed, left, audit, ...endSessions(db, sql`${target}`), message)
    .select({ ...foundBoth(db), notifiedIds })
    .from(sql`(select) as nothing`)
    .prepare('delete_application_user');
};
