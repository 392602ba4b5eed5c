import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import type { LoginIntent } from '../login/login-intent.ts';
import { type NoticeOrigin, noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { cutoffParameter, isStillSignedIn } from '../users/still-signed-in.ts';

const rules = { userId: uuid, passkeyId: uuid };

/**
 * Removes a passkey of a user. Sessions that began with it live on.
 *
 * @throws ServiceError `Passkey not found`
 */
export async function deletePasskey(
  call: Call,
  request: Unchecked<keyof typeof rules>,
  origin?: NoticeOrigin & Partial<Pick<LoginIntent, 'assurance'>>,
): Promise<void> {
  const isUnproven = origin !== undefined && (origin.assurance ?? 1) < 3;
  const parameters = {
    ...check(request, rules),
    ...cutoffParameter(call),
    ...noticeParameters(call, origin),
    isUnproven,
  };
  const [deleted] = await call.run(removePasskey, parameters);
  if (!deleted) throw new ServiceError('PASSKEY_NOT_FOUND');
  call.notices?.wake();
}

const removePasskey = statement('delete_passkey')`
  with owner as (
    select id, email from users where id = ${p.uuid('userId')} and ${isStillSignedIn} for no key update
  ), deleted as (
    delete from passkeys k using owner where k.user_id = owner.id and k.id = ${p.uuid('passkeyId')}
    returning k.id, k.user_id, k.name, owner.email
  ), marked as (
    update users set passkey_removed_at = ${p.instant('now')} from deleted
    where ${p.boolean('isUnproven')} and users.id = deleted.user_id
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted`, applicationId: noApplication })},
  ${noticesOf({
    kind: 'passkeyRemoved',
    from: sql`deleted`,
    userId: sql`deleted.user_id`,
    recipient: sql`deleted.email`,
    value: sql`deleted.name`,
  })}
  select from deleted`;
