import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { endUserSessions } from '../lifecycle/end-user-sessions.ts';
import { noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { credentialRemoved } from '../users/counts-from.ts';
import { cutoffParameter, isStillSignedIn } from '../users/still-signed-in.ts';

const rules = { userId: uuid };

type Request = Unchecked<keyof typeof rules>;

interface Removal {
  /** Only the app with this ID. Any if absent. */
  readonly id?: string;
  /** Lets the next credential count in full: the user may have lost this one. */
  readonly isByOperator?: boolean;
}

/**
 * Removes the authenticator app of a user, with its recovery codes. It is not asked any more from the next sign-in on.
 *
 * @throws ServiceError `User not found`
 */
export async function removeSecondFactor(
  call: Call,
  request: Request,
  { id, isByOperator = false }: Removal = {},
): Promise<void> {
  const parameters = { ...check(request, rules), ...cutoffParameter(call), ...noticeParameters(call) };
  const [owner] = await call.run(removeFactor, { ...parameters, id: id ?? null, isByOperator });
  if (!owner) throw new ServiceError('USER_NOT_FOUND');
  call.notices?.wake();
}

/**
 * Does the same for an operator, and ends every sign-in of the user. Succeeds without a second factor. Returns the
 * user's ID.
 *
 * @throws ServiceError `User not found`
 */
export async function resetSecondFactor(call: Call, request: Request): Promise<string> {
  await removeSecondFactor(call, request, { isByOperator: true });
  return endUserSessions(call, request);
}

const removeFactor = statement('remove_second_factor')`
  with owner as (
    select id, email from users
    where id = ${p.uuid('userId')} and deleted_at is null and ${isStillSignedIn} for no key update
  ), removed as (
    delete from totp_secrets t using owner
    where t.user_id = ${p.uuid('userId')} and (${p.uuid('id')} is null or t.id = ${p.uuid('id')})
    returning t.user_id, owner.email
  ), codes_left as (
    delete from recovery_codes c using removed where c.user_id = ${p.uuid('userId')}
  ), marked as (
    update users u set has_second_factor = false, ${credentialRemoved(sql`not ${p.boolean('isByOperator')}`)}
    from removed where u.id = removed.user_id
  ), ${auditEvent({ resource: sql`user_id`, from: sql`removed`, applicationId: noApplication })},
  ${noticesOf({
    kind: 'secondFactorRemoved',
    from: sql`removed`,
    userId: sql`removed.user_id`,
    recipient: sql`removed.email`,
  })}
  select from owner`;
