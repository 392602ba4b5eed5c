import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { type NoticeOrigin, noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { check, type Unchecked, uuid } from '../validation.ts';

const rules = { userId: uuid, passkeyId: uuid };

/**
 * Removes a passkey of a user. Sessions that began with it live on.
 *
 * @throws ServiceError `Passkey not found`
 */
export async function deletePasskey(
  call: Call,
  request: Unchecked<keyof typeof rules>,
  origin?: NoticeOrigin,
): Promise<void> {
  const [deleted] = await call.run(removePasskey, { ...check(request, rules), ...noticeParameters(call, origin) });
  if (!deleted) throw new ServiceError('PASSKEY_NOT_FOUND');
  call.notices?.wake();
}

const removePasskey = statement('delete_passkey')`
  with deleted as (
    delete from passkeys where user_id = ${p.uuid('userId')} and id = ${p.uuid('passkeyId')} returning id, user_id, name
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted`, applicationId: noApplication })},
  ${noticesOf({
    kind: 'passkeyRemoved',
    from: sql`deleted join users on users.id = deleted.user_id`,
    userId: sql`users.id`,
    recipient: sql`users.email`,
    value: sql`deleted.name`,
  })}
  select from deleted`;
