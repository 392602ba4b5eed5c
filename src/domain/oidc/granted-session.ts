import { type SQL, sql } from 'drizzle-orm';
import { nullable, p, type RowOfType, statement, t } from '../../database/template.ts';
import type { ApplicationCall } from '../call.ts';
import type { SignInMethod } from '../login/verify-token.ts';
import { FOUND_SESSION, findOrBegin } from '../sessions/find-or-begin-session.ts';
import { endLateSession } from '../sessions/late-sessions.ts';
import { newSession, type Peer } from '../sessions/session.ts';
import { ORIGINS } from '../sessions/session-origin.ts';
import { updateSignIn } from '../sessions/update-sign-in.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { announce, HAS_MESSAGES, type HasMessages } from '../webhooks/insert-message.ts';
import { OidcError } from './oidc-error.ts';

interface GrantedSignIn {
  readonly grantId: string;
  readonly userId: string;
  readonly method: SignInMethod;
  readonly authenticatedAt: Date;
  readonly endsAt: Date;
}

/** A sign-in whose code was redeemed, for a grant that begins. */
export interface NewGrant extends GrantedSignIn {
  readonly sid: string;
  readonly scope: number;
  readonly rotation: number;
  /** Null, like the user agent, if the page of the sign-in has not passed it on. */
  readonly originAddress: string | null;
  readonly originUserAgent: string | null;
  readonly originBrowser: Buffer | null;
}

export type GrantedSession = FoundSession['session'] & Pick<FoundSession, 'sid' | 'verifiedEmail'>;

/**
 * Begins a grant, and returns the newest live session of its user, or begins one.
 *
 * @throws OidcError `invalid_grant` if a cut-off has ended the sign-in, or the user cannot sign in
 */
export async function beginGrantedSession(
  call: ApplicationCall,
  subscribed: Set<string>,
  peer: Peer,
  grant: NewGrant,
): Promise<GrantedSession> {
  const { application } = call;
  const parameters = { ...grant, ...peer, isOriginKnown: true };
  let notifies = subscribed.has(application.id);
  return findOrBeginSession(call, grant, true, async (session) => {
    const [found]: readonly FoundSession[] = await call.run(notifies ? beginGrantedAndNotify : beginGranted, {
      ...session,
      ...parameters,
    });
    // There is no session if a webhook subscribes to its message.
    notifies = true;
    const notifiedIds = found?.notifiedIds ?? [];
    if (notifiedIds.length > 0) subscribed.add(application.id);
    else if (found?.session.id === session.id) subscribed.delete(application.id);
    return found;
  });
}

/**
 * Returns the newest live session of the user of a live grant, or begins one. That is no new sign-in, so webhooks get
 * no message.
 *
 * @throws OidcError `invalid_grant` if the grant has ended, or the user cannot sign in
 */
export async function continueGrantedSession(call: ApplicationCall, grant: GrantedSignIn): Promise<GrantedSession> {
  return findOrBeginSession(call, grant, false, async (session) => {
    const [found] = await call.run(continueGranted, { ...session, ipAddress: '', userAgent: '' });
    return found;
  });
}

/** Tries the statement until it has found a session that nothing ends, or has none to find. */
async function findOrBeginSession(
  call: ApplicationCall,
  grant: GrantedSignIn,
  isNewGrant: boolean,
  run: (session: GrantedSignIn & ReturnType<typeof newSession>) => Promise<FoundSession | undefined>,
): Promise<GrantedSession> {
  const parameters = { ...grant, ...newSession(call, grant.endsAt) };
  const { applicationId, userId } = parameters;
  for (;;) {
    const found = await run(parameters);
    if (!found?.isAccepted) throw new OidcError('invalid_grant');
    const { isOutdated, session, sid, verifiedEmail, notifiedIds = [] } = found;
    if (isOutdated) {
      const origin = { originAddress: null, originUserAgent: null, originBrowser: null };
      await call.run(updateSignIn.parameters, { ...origin, ...parameters, sessionId: session.id });
    }
    // There is none if a concurrent call has just begun it.
    if (isOutdated !== false) continue;
    announce(call.onMessage, { notifiedIds });
    // A new grant is of an erased user's browser, too, if the erasure has committed meanwhile.
    const mayBeLate = session.id === parameters.id || isNewGrant;
    const late = mayBeLate ? await endLateSession(call, { applicationId, userId, leaves: true }) : undefined;
    if (!late) return { ...session, sid, verifiedEmail };
    if (late.isOfErased) await removeIfErased(call, userId);
  }
}

const FOUND = {
  ...FOUND_SESSION,
  sid: t.uuid,
  /** Null unless the user has proved to have the address. */
  verifiedEmail: nullable(t.text),
};

type FoundSession = RowOfType<typeof FOUND> & Partial<HasMessages>;

const verifiedEmail = sql`case when email_verified_at is not null then caller.email end as verified_email`;

const granted = sql`, granted as (
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at,
      rotation, created_at, expires_at)
    select ${p.uuid('applicationId')}, ${p.uuid('grantId')}, id, ${p.uuid('sid')}, ${p.integer('scope')}, ${p.text('method')},
      coalesce(${p.text('originAddress')}, ${p.text('ipAddress')}),
      coalesce(${p.text('originUserAgent')}, ${p.text('userAgent')}), ${p.instant('authenticatedAt')},
      ${p.integer('rotation')}, ${p.instant('now')}, ${p.instant('endsAt')}
    from caller where ${p.instant('authenticatedAt')} > cutoff_at
    on conflict do nothing
  )`;

/** The grant begins with the session, or with the look at it: a cut-off that commits meanwhile ends both. */
function begin(notifies: 'yes' | 'unless asked'): SQL {
  return findOrBegin(ORIGINS.parameters, notifies, {
    ctes: granted,
    columns: sql`, ${p.uuid('sid')} as sid, ${verifiedEmail}`,
  });
}

const beginGranted = statement('begin_granted_session', FOUND)`${begin('unless asked')}`;

const beginGrantedAndNotify = statement('begin_granted_session_and_notify', {
  ...FOUND,
  ...HAS_MESSAGES,
})`${begin('yes')}`;

const isLiveGrant = sql`g.application_id = ${p.uuid('applicationId')} and g.id = ${p.uuid('grantId')}
  and g.user_id = ${p.uuid('userId')} and g.expires_at > ${p.instant('now')}`;

const origin = {
  address: sql`g.ip_address`,
  userAgent: sql`g.user_agent`,
  browser: sql`null::bytea`,
  join: sql`join oidc_grants g on ${isLiveGrant}`,
  isKnown: sql``,
};

const continueGranted = statement('continue_granted_session', FOUND)`${findOrBegin(origin, 'no', {
  condition: sql`and exists (select 1 from oidc_grants g where ${isLiveGrant})`,
  columns: sql`, (select g.sid from oidc_grants g where ${isLiveGrant}) as sid, ${verifiedEmail}`,
})}`;
