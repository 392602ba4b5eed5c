/** The part of statements that inserts a grant, and what they return of a granted session. */
import { type SQL, sql } from 'drizzle-orm';
import { nullable, p, t, toSnakeCase } from '../../../../database/sql/template.ts';
import { shownGroups } from '../../../../domain/access/has-access.ts';
import { GROUPS_BIT } from '../../../../domain/grants/scope.ts';
import { FOUND_SESSION, type GrantParts } from '../../../../domain/sessions/find-or-begin-session.ts';
import { preferredUsername } from '../../../../domain/users/attributes.ts';

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

/** Returns the columns of `FOUND` beside the session, each after a comma. `caller` has what they read of the user. */
export function foundOfGrant({ sid, assurance, scope }: Readonly<Record<'sid' | 'assurance' | 'scope', SQL>>): SQL {
  // The subquery hides the scope from the planner, which would else plan each execution anew to leave the groups out.
  const hasGroups = sql`(select ${scope}) & ${sql.raw(`${GROUPS_BIT}`)} > 0`;
  return sql`, ${sid} as sid, ${assurance} as grant_assurance, email_verified_at is not null as is_email_verified,
      ${preferredUsername(sql`caller.attributes`)} as preferred_username,
      ${shownGroups(p.uuid('applicationId'), sql`caller.id`, hasGroups)} as groups`;
}

/** What a grant takes over of the login that has been redeemed, with the types of parameters. */
const LOGIN = {
  userId: p.uuid,
  method: p.text,
  assurance: p.integer,
  authenticatedAt: p.instant,
  scope: p.integer,
  originAddress: p.text,
  originUserAgent: p.text,
  originBrowser: p.bytes,
  onBehalfBy: p.text,
  forClient: p.text,
  clientName: p.text,
  needsConsent: p.boolean,
  scopeNames: p.texts,
};

type LoginColumns = Readonly<Record<keyof typeof LOGIN, SQL>>;

function loginColumns(toColumn: (name: keyof typeof LOGIN) => SQL): LoginColumns {
  const names = Object.keys(LOGIN) as (keyof typeof LOGIN)[];
  return Object.fromEntries(names.map((name) => [name, toColumn(name)])) as never;
}

export const GIVEN_LOGIN = loginColumns((name) => LOGIN[name](name));

/** The columns of `redeemed` that `caller` has. */
export const REDEEMED_LOGIN = loginColumns((name) => sql.raw(`caller.${toSnakeCase(name)}`));

/**
 * Returns a CTE that inserts the grant, and its columns. It runs in the statement that finds or begins the session, so
 * a cut-off that commits meanwhile ends both.
 */
export function insertGrant(
  login: LoginColumns,
  { grantId, sid, endsAt }: Readonly<Record<'grantId' | 'sid' | 'endsAt', SQL>>,
): Omit<GrantParts, 'condition'> {
  const inserted = sql`, granted as (
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, assurance, ip_address, user_agent, browser_digest,
      on_behalf_by, authenticated_at, rotation, created_at, expires_at, client_id, client_name, needs_consent, scope_names)
    select ${p.uuid('applicationId')}, ${grantId}, id, ${sid}, ${login.scope}, ${login.method}, ${login.assurance},
      coalesce(${login.originAddress}, ${p.text('ipAddress')}), coalesce(${login.originUserAgent}, ${p.text('userAgent')}),
      ${login.originBrowser}, ${login.onBehalfBy}, ${login.authenticatedAt}, ${p.integer('rotation')}, ${p.instant('now')}, ${endsAt},
      ${login.forClient}, ${login.clientName}, ${login.needsConsent}, ${login.scopeNames}
    from caller where ${login.authenticatedAt} > cutoff_at
    on conflict do nothing
  )`;
  return { inserted, columns: foundOfGrant({ sid, assurance: sql`${login.assurance}::integer`, scope: login.scope }) };
}
