import { type SQL, sql } from 'drizzle-orm';
import { oidcGrants } from '../../../../database/schema/oidc-schema.ts';
import { p, type RowOfType, statement } from '../../../../database/sql/template.ts';
import { ONE_FACTOR } from '../../../../domain/core/assurance.ts';
import type { Call } from '../../../../domain/core/call.ts';
import { ENDED_NOW } from '../../../../domain/grants/end-grants.ts';
import { announce, HAS_MESSAGES, type HasMessages } from '../../../../domain/outbox/insert-message.ts';
import { isStillHere } from '../../../../domain/sessions/browser-cutoffs.ts';
import { isSidCutOff } from '../../../../domain/sessions/cutoffs.ts';
import { findOrBeginOfGrant, GIVEN_SIGN_IN } from '../../../../domain/sessions/find-or-begin-session.ts';
import { formFor, inForms } from '../../../../domain/sessions/forms.ts';
import { endLateSession } from '../../../../domain/sessions/late-sessions.ts';
import { newSession, type Peer } from '../../../../domain/sessions/session.ts';
import { UNKNOWN_ORIGIN, updateSignInOfGrant } from '../../../../domain/sessions/session-origin.ts';
import type { SignInMethod } from '../../../../domain/tokens/verify-token.ts';
import { removeIfErased } from '../../../../domain/users/personal-data.ts';
import { isConsented } from '../authorization/consent.ts';
import { OidcError } from '../oidc-error.ts';
import { FOUND, foundOfGrant, GIVEN_LOGIN, insertGrant } from './insert-grant.ts';
import type { CodeCall, RedeemedLogin } from './redeem-code.ts';

/** The sign-in of a grant. */
interface GrantedSignIn {
  readonly grantId: string;
  readonly scope: number;
  readonly userId: string;
  readonly method: SignInMethod;
  readonly authenticatedAt: Date;
  readonly endsAt: Date;
}

/** The sign-in of a code that was redeemed, for a grant that begins. */
export type NewGrant = GrantedSignIn & Omit<RedeemedLogin, 'loginIntentId' | 'nonce'> & { readonly rotation: number };

export type GrantedSession = FoundSession['session'] &
  Pick<FoundSession, 'sid' | 'grantAssurance' | 'isEmailVerified' | 'preferredUsername' | 'groups'> & {
    readonly scopeNames: FoundSession['scopeNames'] | undefined;
  };

type FoundSession = RowOfType<typeof FOUND> &
  Partial<Pick<RowOfType<typeof FOUND_AGAIN>, 'scopeNames'>> &
  Partial<HasMessages>;

/**
 * Begins a grant, unless the first try has begun it. Returns the newest live session of its user, or begins one.
 *
 * @param firstTry the row of the statement that redeemed the code
 * @throws OidcError `invalid_grant` if a cut-off has ended the sign-in, or the user cannot sign in, also if the browser
 * has been signed out while the grant began
 */
export async function beginGrantedSession(
  call: CodeCall,
  subscribed: Set<string>,
  peer: Peer,
  grant: NewGrant,
  firstTry?: FoundSession,
): Promise<GrantedSession> {
  const { application } = call;
  return findOrBeginSession(call, grant, { isNewGrant: true, firstTry }, async (session) => {
    const [found] = await call.run(formFor(BEGIN, application), { ...session, ...grant, ...peer });
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
export async function continueGrantedSession(call: CodeCall, grant: GrantedSignIn): Promise<GrantedSession> {
  const requiredAssurance = call.application.requiredAssurance ?? ONE_FACTOR;
  const parameters = { requiredAssurance, ipAddress: '', userAgent: '', forClient: call.forClient };
  return findOrBeginSession(call, grant, { isNewGrant: false }, async (session) => {
    const [found] = await call.run(formFor(CONTINUE, call.application), { ...session, ...parameters });
    return found;
  });
}

/** Runs the statement until it finds a session that no cut-off ends, or refuses the grant. */
async function findOrBeginSession(
  call: CodeCall,
  grant: GrantedSignIn,
  { isNewGrant, firstTry }: { readonly isNewGrant: boolean; readonly firstTry?: FoundSession | undefined },
  run: (session: GrantedSignIn & ReturnType<typeof newSession>) => Promise<FoundSession | undefined>,
): Promise<GrantedSession> {
  const parameters = { ...newSession(call, grant.endsAt), ...grant };
  const { applicationId, userId } = parameters;
  for (let tried = firstTry; ; tried = undefined) {
    const found = tried ?? (await run(parameters));
    if (!found?.isAccepted) {
      // An earlier turn may have inserted the grant, and an erasure that has committed since has not seen it.
      if (isNewGrant) await removeIfErased(call, userId);
      throw new OidcError('invalid_grant');
    }
    const { isOutdated, session, scopeNames, notifiedIds = [] } = found;
    const { sid, grantAssurance, isEmailVerified, preferredUsername, groups } = found;
    if (isOutdated) {
      await call.run(updateSignInOfGrant, {
        ...UNKNOWN_ORIGIN,
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
    if (!late) return { ...session, sid, grantAssurance, isEmailVerified, preferredUsername, groups, scopeNames };
  }
}

const BEGIN = inForms('begin_granted_session', (name, attributesOf) => {
  const sid = p.uuid('sid');
  const grant = insertGrant(GIVEN_LOGIN, { grantId: p.uuid('grantId'), sid, endsAt: p.instant('endsAt') });
  const condition = isStillHere(p.instant('authenticatedAt'), { sid, browserDigest: p.bytes('originBrowser') });
  const session = { signIn: GIVEN_SIGN_IN, notifies: 'yes', attributesOf } as const;
  return statement(name, { ...FOUND, ...HAS_MESSAGES })`${findOrBeginOfGrant(session, { ...grant, condition })}`;
});

/**
 * Ends the grant, and returns true, if it was inserted while the logout of its browser committed, or the end of a
 * consent. Neither statement sees the row of the other, so the redemption of a code looks again.
 */
async function endLateGrant(
  { run }: Call,
  grant: { readonly applicationId: string; readonly grantId: string },
): Promise<boolean> {
  const [ended] = await run(endLate, grant);
  return ended !== undefined;
}

const endLate = statement('end_late_oidc_grant')`
  update oidc_grants set ${ENDED_NOW}
  -- Equivalent: conjunct: says on which server the row is
  where application_id = ${p.uuid('applicationId')}
    and id = ${p.uuid('grantId')}
    and (${isSidCutOff(sql`oidc_grants.sid`, sql`oidc_grants.authenticated_at`)} or needs_consent and not ${isConsented})
  returning id`;

const FOUND_AGAIN = { ...FOUND, scopeNames: oidcGrants.scopeNames };

/** Selects from the live grant of the refresh token. */
const ofLiveGrant = (columns: SQL) => sql`(select ${columns} from oidc_grants g where ${isLiveGrant})`;

const isLiveGrant = sql`g.application_id = ${p.uuid('applicationId')} and g.id = ${p.uuid('grantId')}
  and g.user_id = ${p.uuid('userId')} and g.client_id is not distinct from ${p.text('forClient')}
  and g.expires_at > ${p.instant('now')} and g.assurance >= ${p.integer('requiredAssurance')}`;

const signIn = {
  ...GIVEN_SIGN_IN,
  assurance: sql`g.assurance`,
  originAddress: sql`g.ip_address`,
  originUserAgent: sql`g.user_agent`,
  originBrowser: sql`null::bytea`,
  onBehalfBy: sql`g.on_behalf_by`,
  join: sql`join oidc_grants g on ${isLiveGrant}`,
};

/** A grant for a resource that the application no longer is has ended. */
const isOfPastResource = sql`g.client_id is not null and exists (
  select 1 from applications r where r.id = ${p.uuid('applicationId')} and g.created_at <= r.resource_uri_changed_at)`;

const found = foundOfGrant({
  sid: ofLiveGrant(sql`g.sid`),
  assurance: ofLiveGrant(sql`g.assurance::integer`),
  scope: p.integer('scope'),
});

const liveGrant = {
  condition: sql`exists (select 1 from oidc_grants g where ${isLiveGrant} and not (${isOfPastResource}))`,
  columns: sql`${found}, ${ofLiveGrant(sql`g.scope_names`)} as scope_names`,
};

const CONTINUE = inForms(
  'continue_granted_session',
  (name, attributesOf) =>
    statement(name, FOUND_AGAIN)`${findOrBeginOfGrant({ signIn, notifies: 'no', attributesOf }, liveGrant)}`,
);
