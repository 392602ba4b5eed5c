import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import { SELECTED_ORIGINS } from './session-origin.ts';

/**
 * Records a later sign-in in a session, unless the session has ended. Cut-offs still apply to the first sign-in,
 * because they must also end session IDs from before the later sign-in.
 */
export const updateSignIn = statement('update_sign_in')`${update('intent')}`.ifDistributed`${update('parameters')}`;

/** The same with the origin of a grant, whose intent may have expired. */
export const updateSignInOfGrant = statement('update_sign_in_by_parameters')`${update('parameters')}`;

function update(source: keyof typeof SELECTED_ORIGINS): SQL {
  const { address, userAgent, browser, onBehalfBy } = SELECTED_ORIGINS[source];
  return sql`
    with updated as (
      update sessions set last_authenticated_at = ${p.instant('authenticatedAt')}, method = ${p.text('method')},
        assurance = ${p.integer('assurance')},
        ip_address = coalesce(${address}, ip_address), user_agent = coalesce(${userAgent}, user_agent),
        browser_digest = ${browser}, on_behalf_by = ${onBehalfBy}
      where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')}
        and id = ${p.uuid('sessionId')}
        and greatest(authenticated_at, last_authenticated_at) < ${p.instant('authenticatedAt')}
      returning user_id
    ), ${auditEvent({ resource: sql`user_id`, from: sql`updated` })}
    select from updated`;
}
