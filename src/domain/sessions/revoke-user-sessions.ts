import { type SQL, sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall, Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { HERE, loggedOutIfKnown } from '../outbox/logout-message.ts';
import { sessionRevoked } from '../outbox/user-messages.ts';
import { cutOffSessions, isGrantAfterEveryCutoff, runCutoff } from './cutoffs.ts';
import { forgetLateSignIns, forgetSignIns } from './forget-sign-ins.ts';
import { endLateSession } from './late-sessions.ts';

const rules = { userId: uuid };

/** Ends the sessions and unused auth tokens of a user in the application, if there are any. Returns the user's ID. */
export async function revokeUserSessions(
  call: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<string> {
  const { userId } = check(request, rules);
  const target = { applicationId: call.application.id, userId };
  const { singleSignOn } = call.application;
  const [ended] = await runCutoff(call, singleSignOn ? endSessionsOfUserAndForget : endSessionsOfUser, target);
  if (ended) announce(call.onMessage, ended);
  await endLateSession(call, { ...target, mayRemoveUser: false });
  if (singleSignOn) await forgetLateSignIns(call, userId, { from: new Date(0), until: ended?.cutoffAt ?? null });
  return userId;
}

/**
 * Ends the sessions of a user in the application, and the sign-ins that browsers remember. Without a session or grant
 * there it does nothing, so that a person stores at most one cut-off and audit event per sign-in.
 */
export async function endOwnSessions(call: Call, target: { readonly applicationId: string; readonly userId: string }) {
  const [ended] = await runCutoff(call, endSessionsWhereSignedIn, target);
  if (!ended) return;
  announce(call.onMessage, ended);
  await endLateSession(call, { ...target, mayRemoveUser: false });
  await forgetLateSignIns(call, target.userId, { from: new Date(0), until: ended.cutoffAt });
}

const ENDED = { cutoffAt: t.instant, ...HAS_MESSAGES };

const endSessionsOfUser = statement('end_sessions_of_user', ENDED)`${end()}`
  .ifDistributed`${end(undefined, sql``, HERE)}`;

const endSessionsOfUserAndForget = statement('end_sessions_of_user_and_forget', ENDED)`${end(
  forgetSignIns(sql`target`, sql`r.user_id = t.user_id`),
)}`;

const endSessionsWhereSignedIn = statement('end_sessions_where_signed_in', ENDED)`${end(
  forgetSignIns(sql`target`, sql`r.user_id = t.user_id`),
  sql`and (s.user_id is not null or exists (
        select 1 from oidc_grants
        where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')} and ${isGrantAfterEveryCutoff}))`,
)}`;

function end(forget?: SQL, condition = sql``, where = {}): SQL {
  return sql`
    with target as (
      -- Any user: one without a session may have an auth token. IDs of no user must not fill the table.
      select u.id as user_id, s.authenticated_at
      from users u left join sessions s on s.application_id = ${p.uuid('applicationId')} and s.user_id = u.id
      where u.id = ${p.uuid('userId')} ${condition}
    ), ${auditEvent({ resource: sql`user_id`, from: sql`target` })},
    ${cutOffSessions(sql`target`)},
    ${forget ? sql`${forget},` : sql``}
    ${messagesOf(sessionRevoked(sql`ended`), ...loggedOutIfKnown(sql`target`, where))}
    select (select cutoff_at from cutoff) as cutoff_at, ${notified} from target`;
}
