/** The statements of a refresh, which find or begin the session of a live grant. */
import { sql } from 'drizzle-orm';
import { oidcGrants } from '../../../../database/schema/oidc-schema.ts';
import { p, statement } from '../../../../database/sql/template.ts';
import { findOrBegin, GIVEN_SIGN_IN } from '../../../../domain/sessions/find-or-begin-session.ts';
import { type FormParts, inForms } from '../../../../domain/sessions/forms.ts';
import { claimedOfUser, emailVerifiedAt, FOUND, groupsIn } from './insert-grant.ts';

/** What a refresh of the client of a resource reads, too. */
export const FOUND_FOR_CLIENT = { ...FOUND, scopeNames: oidcGrants.scopeNames };

const isLiveGrant = sql`g.application_id = ${p.uuid('applicationId')} and g.id = ${p.uuid('grantId')}
  and g.user_id = ${p.uuid('userId')} and g.client_id is not distinct from ${p.text('forClient')}
  and g.expires_at > ${p.instant('now')} and g.assurance >= ${p.integer('requiredAssurance')}`;

/** A grant for a resource that the application no longer is has ended. */
const isLiveGrantOfClient = sql`${isLiveGrant} and not exists (
  select 1 from applications r where r.id = ${p.uuid('applicationId')} and g.created_at <= r.resource_uri_changed_at)`;

const origin = {
  address: sql`g.ip_address`,
  userAgent: sql`g.user_agent`,
  browser: sql`null::bytea`,
  onBehalfBy: sql`g.on_behalf_by`,
};

const continued = (parts: FormParts, isLive = isLiveGrant, more = sql``) =>
  findOrBegin({ ...origin, join: sql`join oidc_grants g on ${isLive}` }, 'no', {
    parts,
    hasCurrentProfile: true,
    signIn: { ...GIVEN_SIGN_IN, assurance: sql`g.assurance` },
    ofCaller: emailVerifiedAt,
    condition: sql`and exists (select 1 from oidc_grants g where ${isLive})`,
    columns: sql`, (select g.sid from oidc_grants g where ${isLive}) as sid,
      (select g.assurance::integer from oidc_grants g where ${isLive}) as grant_assurance, ${claimedOfUser},
      ${groupsIn(p.integer('scope'))}${more}`,
  });

export const CONTINUE = inForms(
  'continue_granted_session',
  (name, parts, ifDistributed) =>
    statement(name, FOUND)`${continued(parts)}`.ifDistributed`${continued(ifDistributed)}`,
);

const scopeNames = sql`, (select g.scope_names from oidc_grants g where ${isLiveGrantOfClient}) as scope_names`;

export const CONTINUE_FOR_CLIENT = inForms(
  'continue_session_of_client',
  (name, parts, ifDistributed) =>
    statement(name, FOUND_FOR_CLIENT)`${continued(parts, isLiveGrantOfClient, scopeNames)}`
      .ifDistributed`${continued(ifDistributed, isLiveGrantOfClient, scopeNames)}`,
);
