import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../webhooks/insert-message.ts';
import { sessionRevoked } from '../webhooks/user-messages.ts';
import { cutOffSessions, runCutoff } from './cutoffs.ts';
import { forgetLateSignIns, forgetSignIns } from './forget-sign-ins.ts';
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
  await forgetLateSignIns(call, userId, { from: new Date(0), until: ended?.cutoffAt ?? null });
  return userId;
}

const endSessionsOfUser = statement('end_sessions_of_user', { cutoffAt: t.instant, ...HAS_MESSAGES })`
  with target as (
    -- A user who has never signed in may still have an auth token. Other IDs must not fill the table.
    select u.id as user_id, s.authenticated_at
    from users u left join sessions s on s.application_id = ${p.uuid('applicationId')} and s.user_id = u.id
    where u.id = ${p.uuid('userId')}
  ), ${auditEvent({ resource: sql`user_id`, from: sql`target` })},
  ${cutOffSessions(sql`target`)},
  ${forgetSignIns(sql`target`, sql`r.user_id = t.user_id`)},
  ${messagesOf(sessionRevoked(sql`ended`))}
  select (select cutoff_at from cutoff) as cutoff_at, ${notified} from target`;
