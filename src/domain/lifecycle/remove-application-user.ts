import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { HERE, loggedOut } from '../outbox/logout-message.ts';
import { sessionRevoked } from '../outbox/user-messages.ts';
import { cutOffSessions, runCutoff } from '../sessions/cutoffs.ts';
import { endLateSession } from '../sessions/late-sessions.ts';
import { FOUND_BOTH, foundBoth, requireBoth } from '../users/add-application-user.ts';
import { cutOffRefused } from './lost-access.ts';

const rules = { applicationId: uuid, userId: uuid };

/**
 * Removes a user from the application, ends the user's sessions and unused auth tokens there, and returns the user's
 * ID. Clients have to ask the user for consent again. Webhooks keep their owner. An open invitation expires.
 *
 * @throws ServiceError `Application not found`, `User not found`
 */
export async function removeApplicationUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<string> {
  const parameters = check(request, rules);
  const found = await runCutoff(call, deleteApplicationUser, parameters);
  announce(call.onMessage, requireBoth(found));
  await endLateSession(call, { ...parameters, mayRemoveUser: true });
  await cutOffRefused(call, [[parameters.applicationId, parameters.userId]]);
  return parameters.userId;
}

const remove = (where: Partial<typeof HERE> = {}) => sql`
  with target as (
    select u.id as user_id, s.authenticated_at
    from users u left join sessions s on s.application_id = ${p.uuid('applicationId')} and s.user_id = u.id
    where u.id = ${p.uuid('userId')} and u.deleted_at is null
  ), removed as (
    delete from added_users where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')}
    returning user_id
  ), left_application as (
    delete from application_users where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')}
    returning user_id
  ), disinvited as (
    -- The job that withdraws expired invitations erases a user who is nothing but that invitation.
    update invitations set expires_at = ${p.instant('now')}
    where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')} and accepted_at is null
      -- Equivalent: comparison: one that ends now keeps that instant
      and expires_at > ${p.instant('now')}
  ), unconsented as (
    delete from consents where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')}
  ), gone as (
    select user_id from removed union select user_id from left_application
  ), ${auditEvent({ resource: sql`user_id`, from: sql`gone` })},
  ${cutOffSessions(sql`target`)},
  ${messagesOf(sessionRevoked(sql`ended`), ...loggedOut(sql`left_application`, where))}
  select ${foundBoth}, ${notified}`;

const deleteApplicationUser = statement('delete_application_user', { ...FOUND_BOTH, ...HAS_MESSAGES })`
  ${remove()}`.ifDistributed`${remove(HERE)}`;
