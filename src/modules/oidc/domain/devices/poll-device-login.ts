import { sql } from 'drizzle-orm';
import { loginIntents } from '../../../../database/schema/intent-schema.ts';
import { nullable, p, statement, t } from '../../../../database/sql/template.ts';
import { auditEvent } from '../../../../domain/audit/audit-event.ts';
import { ONE_FACTOR } from '../../../../domain/core/assurance.ts';
import { type CodeCall, REDEEMED, type RedeemedLogin, redeemedColumns } from '../grants/redeem-code.ts';
import { OidcError } from '../oidc-error.ts';
import type { TokenKeys } from '../tokens/token-keys.ts';
import { loginIntentIdsOf } from './device-codes.ts';

/**
 * Answers a device that asks for its tokens (RFC 8628, section 3.5): redeems its login, once, if the person has allowed
 * it.
 *
 * @throws OidcError `authorization_pending`; `slow_down` if the device did not wait, which makes it wait five seconds
 * more each time; `access_denied`, `expired_token`, and `invalid_grant` for a code of another client or resource, or one
 * that was redeemed
 */
export async function pollDeviceLogin(
  { application, forClient, run, now }: CodeCall,
  { deviceCode: keys }: Pick<TokenKeys, 'deviceCode'>,
  deviceCode: string,
): Promise<RedeemedLogin> {
  const requiredAssurance = application.requiredAssurance ?? ONE_FACTOR;
  for (const loginIntentId of loginIntentIdsOf(keys, deviceCode)) {
    const of = { applicationId: application.id, forClient, loginIntentId };
    const [polled] = await run(poll, { ...of, requiredAssurance, now });
    if (!polled) continue;
    const { approved, isExpired, isTooFast, redeemedAt, ...login } = polled;
    if (approved === false) throw new OidcError('access_denied', { description: 'The person has denied it' });
    if (isExpired) throw new OidcError('expired_token');
    if (approved === null) throw new OidcError(isTooFast ? 'slow_down' : 'authorization_pending');
    // The application demands more than it did at the sign-in.
    if (!redeemedAt) break;
    // What ends the sign-ins of the browser does not end that of the device.
    const origin = { originAddress: null, originUserAgent: null, originBrowser: null };
    return { ...login, ...origin, loginIntentId, sid: loginIntentId };
  }
  throw new OidcError('invalid_grant');
}

/** A device that asks by a ticker asks early after a question that was slow. */
const LEEWAY_SECONDS = sql.raw('1');

/**
 * `known` locks the row, so that the update compares with the newest one: of two questions at once one finds the other,
 * and of two redemptions one finds none.
 */
const poll = statement('poll_device_login', {
  ...REDEEMED,
  approved: nullable(t.boolean),
  isExpired: t.boolean,
  /** Null at the first question. */
  isTooFast: nullable(t.boolean),
  redeemedAt: loginIntents.redeemedAt,
})`
  with known as (
    select application_id, polled_at > ${p.instant('now')} - (poll_seconds - ${LEEWAY_SECONDS}) * interval '1 second' as is_too_fast
    from login_intents
    where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('loginIntentId')}
      and client_id is not distinct from ${p.text('forClient')} and redeemed_at is null
    for update
  ), polled as (
    update login_intents i
    set polled_at = ${p.instant('now')},
      poll_seconds = i.poll_seconds + case when known.is_too_fast then 5 else 0 end,
      redeemed_at = case when i.approved and i.expires_at > ${p.instant('now')}
        and coalesce(i.assurance, 1) >= ${p.integer('requiredAssurance')} then ${p.instant('now')} end
    from known
    -- Equivalent: conjunct: says on which server the row is
    where i.application_id = known.application_id
      and i.id = ${p.uuid('loginIntentId')}
    returning ${redeemedColumns}, approved, expires_at <= ${p.instant('now')} as is_expired,
      known.is_too_fast, redeemed_at
  ), ${auditEvent({ resource: sql`user_id`, from: sql`polled where redeemed_at is not null` })}
  select * from polled`;
