import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { sessions } from '../../database/session-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { sessionRevoked } from '../webhooks/user-messages.ts';
import { endSessions, runCutoff } from './cutoffs.ts';
import { endLateSession } from './late-sessions.ts';

const rules = { userId: uuid };

/** Ends the sessions and unused auth tokens that a user has in the application, if any, and returns the user's ID. */
export async function revokeUserSessions(
  call: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<string> {
  const { userId } = check(request, rules);
  const target = { applicationId: call.application.id, userId };
  const [ended] = await runCutoff(call, endSessionsOfUser, target);
  if (ended) announce(call.onMessage, ended);
  await endLateSession(call, { ...target, leaves: false });
  return userId;
}

const endSessionsOfUser: Statement<HasMessages[]> = (db) => {
  // A user who has never signed in may still have an auth token. Other IDs must not fill the table.
  const target = db.$with('target', { userId: sql`user_id` }).as(sql`
    select ${users.id} as user_id, ${sessions.authenticatedAt} from ${users}
    left join ${sessions} on ${sessions.applicationId} = ${sql.placeholder('applicationId')}
      and ${sessions.userId} = ${users.id}
    where ${users.id} = ${sql.placeholder('userId')}`);
  const audit = insertAuditEvent(db, { resource: sql`user_id`, from: sql`target` });
  const message = insertMessages(db, sessionRevoked);
  return db
    .with(target, audit, ...endSessions(db, sql`${target}`), message)
    .select({ notifiedIds })
    .from(target)
    .prepare('end_sessions_of_user');
};
