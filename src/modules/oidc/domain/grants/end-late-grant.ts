import { sql } from 'drizzle-orm';
import { p, statement } from '../../../../database/sql/template.ts';
import type { Call } from '../../../../domain/core/call.ts';
import { LONG_AGO } from '../../../../domain/grants/end-grants.ts';
import { isSidCutOff } from '../../../../domain/sessions/cutoffs.ts';
import { isConsented } from '../authorization/consent.ts';

/**
 * Ends the grant, and returns true, if it was inserted while the logout of its browser committed, or the end of a consent. Neither statement sees
 * the row of the other, so the redemption of a code looks again.
 */
export async function endLateGrant(
  { run }: Call,
  grant: { readonly applicationId: string; readonly grantId: string },
): Promise<boolean> {
  const [ended] = await run(endLate, grant);
  return ended !== undefined;
}

const endLate = statement('end_late_oidc_grant')`
  update oidc_grants set expires_at = ${LONG_AGO}
  where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('grantId')}
    and (${isSidCutOff(sql`oidc_grants.sid`, sql`oidc_grants.authenticated_at`)} or needs_consent and not ${isConsented})
  returning id`;
