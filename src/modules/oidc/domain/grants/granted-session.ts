import { type SQL, sql } from 'drizzle-orm';
import { oidcGrants } from '../../../../database/schema/oidc-schema.ts';
import { p, type RowOfType, statement } from '../../../../database/sql/template.ts';
import { ONE_FACTOR } from '../../../../domain/core/assurance.ts';
import type { Call } from '../../../../domain/core/call.ts';
import { LONG_AGO } from '../../../../domain/grants/end-grants.ts';
import { announce, HAS_MESSAGES, type HasMessages } from '../../../../domain/outbox/insert-message.ts';
import { isStillHere } from '../../../../domain/sessions/browser-cutoffs.ts';
import { isSidCutOff } from '../../../../domain/sessions/cutoffs.ts';
import { findOrBegin, GIVEN_SIGN_IN } from '../../../../domain/sessions/find-or-begin-session.ts';
import { type AttributesOf, formFor, inForms } from '../../../../domain/sessions/forms.ts';
import { endLateSession } from '../../../../domain/sessions/late-sessions.ts';
import { newSession, type Peer } from '../../../../domain/sessions/session.ts';
import { ORIGINS } from '../../../../domain/sessions/session-origin.ts';
import { updateSignInOfGrant } from '../../../../domain/sessions/update-sign-in.ts';
import type { SignInMethod } from '../../../../domain/tokens/verify-token.ts';
import { removeIfErased } from '../../../../domain/users/personal-data.ts';
import type { CLIENT_OF_LOGIN } from '../authorization/client-of-login.ts';
import { isConsented } from '../authorization/consent.ts';
import { OidcError } from '../oidc-error.ts';
import { claimedOfUser, emailVerifiedAt, FOUND, groupsIn, insertGrant } from './insert-grant.ts';
import type { CodeCall } from './redeem-code.ts';

/** The sign-in of a grant. */
interface GrantedSignIn {
  readonly grantId: string;
  readonly scope: number;
  readonly userId: string;
  readonly method: SignInMethod;
  readonly authenticatedAt: Date;
  readonly endsAt: Date;
}

/** A grant whose refresh token was presented. */
interface KnownGrant extends GrantedSignIn {
  /** Whether it is one of a client of a resource, whose scope names are read then. */
  readonly isForClient: boolean;
}

/** The sign-in of a code that was redeemed, for a grant that begins. */
export interface NewGrant extends GrantedSignIn, RowOfType<typeof CLIENT_OF_LOGIN> {
  readonly sid: string;
  readonly assurance: number;
  readonly rotation: number;
  /** Null, like the user agent, if a page other than Usher's did not pass it on. */
  readonly originAddress: string | null;
  readonly originUserAgent: string | null;
  readonly originBrowser: Buffer | null;
  readonly onBehalfBy: string | null;
}

export type GrantedSession = FoundSession['session'] &
  Pick<FoundSession, 'sid' | 'grantAssurance' | 'isEmailVerified' | 'preferredUsername' | 'groups'> &
  Partial<Pick<FoundSession, 'scopeNames'>>;

/** The row of the statement that redeemed the code, and the ID that a session begun by it has. */
interface FirstTry {
  readonly found: FoundSession;
  readonly id: string;
}

/**
 * Begins a grant, unless the first try has begun it. Returns the newest live session of its user, or begins one.
 *
 * @throws OidcError `invalid_grant` if a cut-off has ended the sign-in, or the user cannot sign in, also if the browser
 * has been signed out while the grant began
 */
export async function beginGrantedSession(
  call: CodeCall,
  subscribed: Set<string>,
  peer: Peer,
  grant: NewGrant,
  firstTry?: FirstTry,
): Promise<GrantedSession> {
  const { application } = call;
  const parameters = { ...grant, ...peer };
  let notifies = subscribed.has(application.id) || firstTry !== undefined;
  return findOrBeginSession(call, grant, { isNewGrant: true, firstTry }, async (session) => {
    const beginning = notifies ? formFor(BEGIN_AND_NOTIFY, application) : formFor(BEGIN, application);
    const [found]: readonly FoundSession[] = await call.run<readonly FoundSession[]>(beginning, {
      ...session,
      ...parameters,
    });
    // If this has found no session, a webhook may subscribe to its message: `BEGIN` begins none then.
    notifies = true;
    const notifiedIds = found?.notifiedIds ?? [];
    if (notifiedIds.length > 0) subscribed.add(application.id);
    else if (found?.session.id === session.id) subscribed.delete(application.id);
    return found;
  });
}

/**
 * Returns the newest live session of the user of a live grant, or begins one. Webhooks get no message, because it is
 * not a new sign-in.
 *
 * @throws OidcError `invalid_grant` if the grant has ended, the user cannot sign in, or the application has come to
 * demand more than the sign-in has shown
 */
export async function continueGrantedSession(call: CodeCall, grant: KnownGrant): Promise<GrantedSession> {
  const continuing = grant.isForClient ? CONTINUE_FOR_CLIENT : CONTINUE;
  const requiredAssurance = call.application.requiredAssurance ?? ONE_FACTOR;
  const parameters = { requiredAssurance, ipAddress: '', userAgent: '', forClient: call.forClient };
  return findOrBeginSession(call, grant, { isNewGrant: false }, async (session) => {
    const [found]: readonly FoundSession[] = await call.run(formFor(continuing, call.application), {
      ...session,
      ...parameters,
    });
    return found;
  });
}

/** Runs the statement until it finds a session that no cut-off ends, or refuses the grant. */
async function findOrBeginSession(
  call: CodeCall,
  grant: GrantedSignIn,
  { isNewGrant, firstTry }: { readonly isNewGrant: boolean; readonly firstTry?: FirstTry | undefined },
  run: (session: GrantedSignIn & ReturnType<typeof newSession>) => Promise<FoundSession | undefined>,
): Promise<GrantedSession> {
  const parameters = { ...newSession(call, grant.endsAt), ...grant, ...(firstTry && { id: firstTry.id }) };
  const { applicationId, userId } = parameters;
  for (let tried = firstTry?.found; ; tried = undefined) {
    const found = tried ?? (await run(parameters));
    if (!found?.isAccepted) {
      // An earlier turn may have inserted the grant, and an erasure that has committed since has not seen it.
      if (isNewGrant) await removeIfErased(call, userId);
      throw new OidcError('invalid_grant');
    }
    const { isOutdated, session, scopeNames, notifiedIds = [] } = found;
    const { sid, grantAssurance, isEmailVerified, preferredUsername, groups } = found;
    if (isOutdated) {
      const origin = { originAddress: null, originUserAgent: null, originBrowser: null, onBehalfBy: null };
      await call.run(updateSignInOfGrant, {
        ...origin,
        ...parameters,
        assurance: grantAssurance,
        sessionId: session.id,
      });
    }
    // Tries again: the session has just been updated, or a concurrent call has begun it, or webhooks need a message.
    if (isOutdated !== false) continue;
    announce(call.onMessage, { notifiedIds });
    // An erasure that commits meanwhile does not see the new rows. A new grant holds personal data, too: the browser.
    const mayBeLate = session.id === parameters.id || isNewGrant;
    const [late, isLateGrant] = await Promise.all([
      mayBeLate ? endLateSession(call, { applicationId, userId, mayRemoveUser: true }) : undefined,
      isNewGrant && endLateGrant(call, parameters),
    ]);
    if (late?.isOfErased) await removeIfErased(call, userId);
    if (isLateGrant) throw new OidcError('invalid_grant');
    const ofGrant = { sid, grantAssurance, isEmailVerified, preferredUsername, groups };
    if (!late) return { ...session, ...ofGrant, ...(scopeNames && { scopeNames }) };
  }
}

type FoundSession = RowOfType<typeof FOUND> &
  Partial<Pick<RowOfType<typeof FOUND_FOR_CLIENT>, 'scopeNames'>> &
  Partial<HasMessages>;

function begin(notifies: 'yes' | 'unless asked', attributesOf: AttributesOf): SQL {
  const grant = insertGrant({
    grantId: p.uuid('grantId'),
    sid: p.uuid('sid'),
    scope: p.integer('scope'),
    method: p.text('method'),
    assurance: p.integer('assurance'),
    address: p.text('originAddress'),
    userAgent: p.text('originUserAgent'),
    browser: p.bytes('originBrowser'),
    onBehalfBy: p.text('onBehalfBy'),
    authenticatedAt: p.instant('authenticatedAt'),
    endsAt: p.instant('endsAt'),
    forClient: p.text('forClient'),
    clientName: p.text('clientName'),
    needsConsent: p.boolean('needsConsent'),
    scopeNames: p.texts('scopeNames'),
  });
  const browser = { sid: p.uuid('sid'), browserDigest: p.bytes('originBrowser') };
  const condition = isStillHere(p.instant('authenticatedAt'), browser);
  return findOrBegin(ORIGINS.parameters, notifies, { ...grant, attributesOf, condition: sql`and ${condition}` });
}

/** Where tables are not distributed, few grants begin so. */
const BEGIN = inForms(
  'begin_granted_session',
  (name, attributesOf) => statement(name, FOUND)`${begin('unless asked', attributesOf)}`,
);

const BEGIN_AND_NOTIFY = inForms(
  'begin_granted_session_and_notify',
  (name, attributesOf) => statement(name, { ...FOUND, ...HAS_MESSAGES })`${begin('yes', attributesOf)}`,
);

/**
 * Ends the grant, and returns true, if it was inserted while the logout of its browser committed, or the end of a consent. Neither statement sees
 * the row of the other, so the redemption of a code looks again.
 */
async function endLateGrant(
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

// The statements of a refresh, which find or begin the session of a live grant.

/** What a refresh of the client of a resource reads, too. */
const FOUND_FOR_CLIENT = { ...FOUND, scopeNames: oidcGrants.scopeNames };

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

const continued = (attributesOf: AttributesOf, isLive = isLiveGrant, more = sql``) =>
  findOrBegin({ ...origin, join: sql`join oidc_grants g on ${isLive}` }, 'no', {
    attributesOf,
    hasCurrentProfile: true,
    signIn: { ...GIVEN_SIGN_IN, assurance: sql`g.assurance` },
    ofCaller: emailVerifiedAt,
    condition: sql`and exists (select 1 from oidc_grants g where ${isLive})`,
    columns: sql`, (select g.sid from oidc_grants g where ${isLive}) as sid,
      (select g.assurance::integer from oidc_grants g where ${isLive}) as grant_assurance, ${claimedOfUser},
      ${groupsIn(p.integer('scope'))}${more}`,
  });

const CONTINUE = inForms(
  'continue_granted_session',
  (name, attributesOf) => statement(name, FOUND)`${continued(attributesOf)}`,
);

const scopeNames = sql`, (select g.scope_names from oidc_grants g where ${isLiveGrantOfClient}) as scope_names`;

const CONTINUE_FOR_CLIENT = inForms(
  'continue_session_of_client',
  (name, attributesOf) =>
    statement(name, FOUND_FOR_CLIENT)`${continued(attributesOf, isLiveGrantOfClient, scopeNames)}`,
);
