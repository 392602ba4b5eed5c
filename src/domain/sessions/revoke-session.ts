import { type SQL, sql } from 'drizzle-orm';
import { sessionIds } from '../../database/schema/session-schema.ts';
import { nullable, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { check, identifier, type Unchecked, UUID } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { HERE, loggedOut } from '../outbox/logout-message.ts';
import { sessionRevoked } from '../outbox/user-messages.ts';
import { cutOffSessions, runCutoff } from './cutoffs.ts';
import { forgetLateSignIns, forgetSignIns } from './forget-sign-ins.ts';
import { NO_ATTRIBUTES } from './forms.ts';
import { endLateSession } from './late-sessions.ts';
import { parametersOf, renewableSession, type SessionSettings } from './session.ts';

const rules = { sessionId: identifier };

/**
 * Ends a session with all predecessors and successors, and returns the ID of its user. If the session has ended before,
 * nothing changes, so that a repeated call does not end a newer session of the user. The user's ID is returned
 * nevertheless, because the first call may have got no answer.
 */
export async function revokeSession(
  call: ApplicationCall,
  settings: SessionSettings,
  request: Unchecked<keyof typeof rules>,
): Promise<string | undefined> {
  const { sessionId } = check(request, rules);
  if (!UUID.test(sessionId)) return undefined;
  const applicationId = call.application.id;
  const { singleSignOn } = call.application;
  const statement = singleSignOn ? endRenewableSessionAndForget : endRenewableSession;
  const [revoked] = await runCutoff(call, statement, { ...parametersOf(call, settings), sessionId });
  if (!revoked) return undefined;
  announce(call.onMessage, revoked);
  const { userId, firstSignInAt, lastSignInAt } = revoked;
  await endLateSession(call, { applicationId, userId, mayRemoveUser: false });
  if (singleSignOn) await forgetLateSignIns(call, userId, { from: firstSignInAt, until: lastSignInAt });
  return userId;
}

const ENDED = {
  userId: sessionIds.userId,
  firstSignInAt: nullable(t.instant),
  lastSignInAt: nullable(t.instant),
  ...HAS_MESSAGES,
};

const endRenewableSession = statement('end_renewable_session', ENDED)`${end()}`.ifDistributed`${end(undefined, HERE)}`;

const endRenewableSessionAndForget = statement('end_renewable_session_and_forget', ENDED)`${end(
  forgetSignIns(
    sql`target`,
    sql`r.user_id = t.user_id and r.authenticated_at between t.authenticated_at and t.last_sign_in_at`,
  ),
)}`;

function end(forget?: SQL, where = {}): SQL {
  return sql`
    with target as (${renewableSession(NO_ATTRIBUTES)}
    ), ${auditEvent({ resource: sql`user_id`, from: sql`target` })},
    ${cutOffSessions(sql`target`)},
    ${forget ? sql`${forget},` : sql``}
    ${messagesOf(sessionRevoked(sql`ended`), ...loggedOut(sql`ended`, where))}
    select user_id, (select authenticated_at from target) as first_sign_in_at,
      (select last_sign_in_at from target) as last_sign_in_at, ${notified}
    from session_ids
    where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('sessionId')}`;
}
