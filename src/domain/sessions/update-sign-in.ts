import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import { byOrigin, GIVEN_ORIGIN, isIntentOfToken, ORIGIN_OF_INTENT, type OriginColumns } from './session-origin.ts';

/**
 * Records a later sign-in in a session, unless the session has ended. Cut-offs still apply to the first sign-in,
 * because they must also end session IDs from before the later sign-in.
 */
export const updateSignIn = byOrigin('update_sign_in', {}, (source) =>
  source === 'parameters'
    ? update((name) => GIVEN_ORIGIN[name])
    : update((name) => sql`(select ${ORIGIN_OF_INTENT[name]} from login_intents i where ${isIntentOfToken})`),
);

/** The same with the origin of a grant, whose intent may have expired. */
export const updateSignInOfGrant = statement('update_sign_in_by_parameters')`${update((name) => GIVEN_ORIGIN[name])}`;

function update(originOf: (name: keyof OriginColumns) => SQL): SQL {
  return sql`
    with updated as (
      update sessions set last_authenticated_at = ${p.instant('authenticatedAt')}, method = ${p.text('method')},
        assurance = ${p.integer('assurance')},
        ip_address = coalesce(${originOf('originAddress')}, ip_address), user_agent = coalesce(${originOf('originUserAgent')}, user_agent),
        browser_digest = ${originOf('originBrowser')}, on_behalf_by = ${originOf('onBehalfBy')}
      where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')}
        and id = ${p.uuid('sessionId')}
        and greatest(authenticated_at, last_authenticated_at) < ${p.instant('authenticatedAt')}
      returning user_id
    ), ${auditEvent({ resource: sql`user_id`, from: sql`updated` })}
    select from updated`;
}
