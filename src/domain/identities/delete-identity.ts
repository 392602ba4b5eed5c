import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { check, text, type Unchecked, uuid } from '../core/validation.ts';
import { noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { getUser } from '../users/get-user.ts';
import { cutoffParameter, isStillSignedIn } from '../users/still-signed-in.ts';

/**
 * Deletes the identities of a deleted user. The deletion of a user and the linking of an identity do not see each
 * other's rows if they run concurrently, so both run this statement afterwards.
 */
export const deleteIdentitiesOfDeleted = statement('delete_identities_of_deleted_user')`
  delete from user_identities d using users
  where users.id = ${p.uuid('userId')} and users.deleted_at is not null and d.user_id = users.id`;

const rules = { userId: uuid, issuer: text({ max: 2_048 }), subject: text({ max: 255 }) };

/**
 * Removes an identity of a user if the user has it, and the held sign-ins at its provider. Sessions that began with it live
 * on.
 *
 * @throws ServiceError `User not found`
 */
export async function deleteUserIdentity(call: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { userId, issuer, subject } = check(request, rules);
  const parameters = { userId, issuer, subject, ...cutoffParameter(call), ...noticeParameters(call) };
  const [deleted] = await call.run(removeIdentity, parameters);
  if (deleted) call.notices?.wake();
  else await getUser(call, { userId });
}

const removeIdentity = statement('delete_identity')`
  with owner as (
    select id, email from users where id = ${p.uuid('userId')} and ${isStillSignedIn} for no key update
  ), deleted as (
    delete from user_identities i using owner
    where i.issuer = ${p.text('issuer')} and i.subject = ${p.text('subject')} and i.user_id = owner.id
    returning i.user_id, i.provider, owner.email
  ), held_ended as (
    delete from held_sign_ins h using deleted where h.user_id = deleted.user_id and h.method = deleted.provider
  ), ${auditEvent({ resource: sql`user_id`, from: sql`deleted`, applicationId: noApplication })},
  ${noticesOf({
    kind: 'identityRemoved',
    from: sql`deleted`,
    userId: sql`deleted.user_id`,
    recipient: sql`deleted.email`,
    value: sql`deleted.provider`,
  })}
  select from deleted`;
