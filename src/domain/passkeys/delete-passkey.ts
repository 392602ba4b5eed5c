import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { type NoticeOrigin, noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { credentialRemoved } from '../users/counts-from.ts';
import { cutoffParameter, isStillSignedIn } from '../users/still-signed-in.ts';

const rules = { userId: uuid, passkeyId: uuid };

type Request = Unchecked<keyof typeof rules>;

/**
 * Removes a passkey of a user, and the held sign-ins that began with it. Sessions live on, and the next passkey is young.
 *
 * @throws ServiceError `Passkey not found`
 */
export function deletePasskey(call: Call, request: Request, origin?: NoticeOrigin): Promise<void> {
  return remove(call, request, { origin, isByOperator: false });
}

/** The same for an operator, who lets the next passkey count in full: the user may have lost this one. */
export function deletePasskeyByOperator(call: Call, request: Request): Promise<void> {
  return remove(call, request, { isByOperator: true });
}

async function remove(
  call: Call,
  request: Request,
  { origin, isByOperator }: { readonly origin?: NoticeOrigin | undefined; readonly isByOperator: boolean },
): Promise<void> {
  const parameters = {
    ...check(request, rules),
    ...cutoffParameter(call),
    ...noticeParameters(call, origin),
    isByOperator,
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
    update users u set ${credentialRemoved(sql`not ${p.boolean('isByOperator')}`)} from deleted where u.id = deleted.user_id
  ), held_ended as (
    delete from held_sign_ins h using deleted where h.user_id = deleted.user_id and h.passkey_id = deleted.id
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted`, applicationId: noApplication })},
  ${noticesOf({
    kind: 'passkeyRemoved',
    from: sql`deleted`,
    userId: sql`deleted.user_id`,
    recipient: sql`deleted.email`,
    value: sql`deleted.name`,
  })}
  select from deleted`;
