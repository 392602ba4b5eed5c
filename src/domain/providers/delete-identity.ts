import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { getUser } from '../users/get-user.ts';
import { check, text, type Unchecked, uuid } from '../validation.ts';

const rules = { userId: uuid, issuer: text({ max: 2_048 }), subject: text({ max: 255 }) };

/**
 * Removes an identity of a user if the user has it. Sessions that began with it live on.
 *
 * @throws ServiceError `User not found`
 */
export async function deleteUserIdentity(call: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { userId, issuer, subject } = check(request, rules);
  const [deleted] = await call.run(removeIdentity, { userId, issuer, subject, ...noticeParameters(call) });
  if (deleted) call.notices?.wake();
  else await getUser(call, { userId });
}

const removeIdentity = statement('delete_identity')`
  with deleted as (
    delete from user_identities
    where issuer = ${p.text('issuer')} and subject = ${p.text('subject')} and user_id = ${p.uuid('userId')}
    returning user_id, provider
  ), ${auditEvent({ resource: sql`user_id`, from: sql`deleted`, applicationId: noApplication })},
  ${noticesOf({
    kind: 'identityRemoved',
    from: sql`deleted join users on users.id = deleted.user_id`,
    userId: sql`users.id`,
    recipient: sql`users.email`,
    value: sql`deleted.provider`,
  })}
  select from deleted`;
