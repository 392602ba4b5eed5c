/** The part of statements that inserts a grant, and what they return of a granted session. */
import { type SQL, sql } from 'drizzle-orm';
import { nullable, p, t } from '../../../../database/sql/template.ts';
import { shownGroups } from '../../../../domain/access/shown-groups.ts';
import { GROUPS_BIT } from '../../../../domain/grants/scope.ts';
import { FOUND_SESSION } from '../../../../domain/sessions/find-or-begin-session.ts';
import { preferredUsername } from '../../../../domain/users/attributes.ts';
import type { CLIENT_OF_LOGIN } from '../authorization/client-of-login.ts';

export const FOUND = {
  ...FOUND_SESSION,
  sid: t.uuid,
  /** The level of the sign-in of the grant. */
  grantAssurance: t.integer,
  /** Whether the user has proved to have the address. */
  isEmailVerified: t.boolean,
  preferredUsername: nullable(t.text),
  /** Empty without the scope for them. */
  groups: t.json<readonly string[]>(),
};

/** What `claimedOfUser` reads, as a column of `caller`. */
export const emailVerifiedAt = sql`, email_verified_at`;
export const claimedOfUser = sql`email_verified_at is not null as is_email_verified,
      ${preferredUsername(sql`caller.attributes`)} as preferred_username`;

/** The subquery hides the scope from the planner, which would else plan each execution anew to leave the groups out. */
export const groupsIn = (scope: SQL) => sql`
  ${shownGroups(p.uuid('applicationId'), sql`caller.id`, sql`(select ${scope}) & ${sql.raw(`${GROUPS_BIT}`)} > 0`)} as groups`;

type GrantColumns = Readonly<
  Record<
    | 'grantId'
    | 'sid'
    | 'scope'
    | 'method'
    | 'assurance'
    | 'address'
    | 'userAgent'
    | 'browser'
    | 'onBehalfBy'
    | 'authenticatedAt'
    | 'endsAt'
    | keyof typeof CLIENT_OF_LOGIN,
    SQL
  >
>;

/**
 * Returns a CTE that inserts the grant, and its columns. It runs in the statement that finds or begins the session, so
 * a cut-off that commits meanwhile ends both.
 */
export function insertGrant({ sid, authenticatedAt, ...grant }: GrantColumns) {
  const ctes = sql`, granted as (
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, assurance, ip_address, user_agent, browser_digest,
      on_behalf_by, authenticated_at, rotation, created_at, expires_at, client_id, client_name, needs_consent, scope_names)
    select ${p.uuid('applicationId')}, ${grant.grantId}, id, ${sid}, ${grant.scope}, ${grant.method}, ${grant.assurance},
      coalesce(${grant.address}, ${p.text('ipAddress')}), coalesce(${grant.userAgent}, ${p.text('userAgent')}),
      ${grant.browser}, ${grant.onBehalfBy}, ${authenticatedAt}, ${p.integer('rotation')}, ${p.instant('now')}, ${grant.endsAt},
      ${grant.forClient}, ${grant.clientName}, ${grant.needsConsent}, ${grant.scopeNames}
    from caller where ${authenticatedAt} > cutoff_at
    on conflict do nothing
  )`;
  return {
    hasCurrentProfile: true,
    ofCaller: emailVerifiedAt,
    ctes,
    columns: sql`, ${sid} as sid, ${grant.assurance}::integer as grant_assurance, ${claimedOfUser}, ${groupsIn(grant.scope)}`,
  };
}
