import { type SQL, sql } from 'drizzle-orm';
import { invitations } from '../../database/schema/invitation-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { leaveUnfinished, unfinishedParameters } from '../core/unfinished-changes.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { goOn } from '../lifecycle/finish-change.ts';

const rules = { invitationId: uuid };

/**
 * Removes an invitation, with the access that it has given, and returns the user's ID. The sign-ins of a user who may no
 * longer enter a restricted application end. If it has created the user and nobody has ever signed in as the user, the
 * user is erased.
 *
 * @throws ServiceError `Invitation not found`
 */
export async function revokeInvitation(call: ApplicationCall, request: Unchecked<keyof typeof rules>): Promise<string> {
  const { invitationId } = check(request, rules);
  const applicationId = call.application.id;
  const unfinished = unfinishedParameters(call.now);
  const [revoked] = await call.run(revokeListed, { applicationId, invitationId, now: call.now, ...unfinished });
  if (!revoked) throw new ServiceError('INVITATION_NOT_FOUND');
  await goOn(call, unfinished.changeId);
  return revoked.userId;
}

const revokeListed = createWithdrawal(
  'revoke_invitation',
  sql`(v.accepted_at is not null or v.expires_at > ${p.instant('now')})`,
);

/**
 * Returns a statement that removes an invitation if the condition holds, with the row of `added_users` that it has
 * inserted and its e-mail if that is not sent yet. It leaves the rest to `goOn`: a restricted application loses a user
 * whom only the invitation has let in, and a user who is nothing but the invitation is erased. Parameters:
 * applicationId, invitationId, now, and those of `leaveUnfinished`.
 */
export function createWithdrawal(name: string, condition: SQL) {
  return statement(name, { userId: invitations.userId })`
  with withdrawn as (
    delete from invitations v
    where v.application_id = ${p.uuid('applicationId')} and v.id = ${p.uuid('invitationId')} and ${condition}
    returning v.user_id, v.created_user, v.added_user, v.accepted_at
  ), removed as (
    delete from added_users a using withdrawn w
    where w.added_user and a.application_id = ${p.uuid('applicationId')} and a.user_id = w.user_id
    returning a.user_id
  ), unsent as (
    delete from notices n using withdrawn w
    where n.application_id = ${p.uuid('applicationId')} and n.user_id = w.user_id and n.kind = 'invitation'
  ), ${auditEvent({ resource: sql`user_id`, from: sql`withdrawn` })}, ${leaveUnfinished('invitation', {
    from: sql`withdrawn`,
    subjectId: sql`user_id`,
    losing: sql`array[${p.uuid('applicationId')}]`,
    isRemoval: sql`created_user and accepted_at is null`,
  })}
  select user_id from withdrawn`;
}
