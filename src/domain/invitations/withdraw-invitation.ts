import { type SQL, sql } from 'drizzle-orm';
import { invitations } from '../../database/schema/invitation-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import { leaveUnfinished } from '../core/unfinished-changes.ts';

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
