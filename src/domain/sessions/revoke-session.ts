import { and, eq, sql } from 'drizzle-orm';
import { matches, type Statement } from '../../database/database.ts';
import { sessionIds } from '../../database/session-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { check, identifier, type Unchecked, UUID } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { sessionRevoked } from '../webhooks/user-messages.ts';
import { endSessions, runCutoff } from './cutoffs.ts';
import { endLateSession } from './late-sessions.ts';
import { liveSession } from './session.ts';

const rules = { sessionId: identifier };

/**
 * Ends a session with its whole chain, and returns its user. One that has ended is left alone, so that a repeated call
 * does not end what the user has begun since; its user is returned, as the first call may not have been answered.
 */
export async function revokeSession(
  call: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<string | undefined> {
  const { sessionId } = check(request, rules);
  if (!UUID.test(sessionId)) return undefined;
  const applicationId = call.application.id;
  const [revoked] = await runCutoff(call, endLiveSession, { applicationId, sessionId });
  if (!revoked) return undefined;
  announce(call.onMessage, revoked);
  await endLateSession(call, { applicationId, userId: revoked.userId, leaves: false });
  return revoked.userId;
}

const endLiveSession: Statement<({ userId: string } & HasMessages)[]> = (db) => {
  const target = db.$with('target', { userId: sql<string>`user_id` }).as(liveSession);
  const audit = insertAuditEvent(db, { resource: sql`user_id`, from: sql`target` });
  const message = insertMessages(db, sessionRevoked);
  return db
    .with(target, audit, ...endSessions(db, sql`${target}`), message)
    .select({ userId: sessionIds.userId, notifiedIds })
    .from(sessionIds)
    .where(and(matches(sessionIds, 'applicationId'), eq(sessionIds.id, sql.placeholder('sessionId'))))
    .prepare('end_live_session');
};
