import { type SQL, sql } from 'drizzle-orm';
import { loginIntents } from '../../../../database/schema/intent-schema.ts';
import { p, statement, t } from '../../../../database/sql/template.ts';
import { isStillHere } from '../../../../domain/sessions/browser-cutoffs.ts';
import { findOrBegin, type SignInColumns } from '../../../../domain/sessions/find-or-begin-session.ts';
import { formFor, inForms } from '../../../../domain/sessions/forms.ts';
import { newSession, type Peer } from '../../../../domain/sessions/session.ts';
import type { OriginColumns } from '../../../../domain/sessions/session-origin.ts';
import { computeSid } from '../../../../domain/sessions/sid.ts';
import type { SignInMethod } from '../../../../domain/tokens/verify-token.ts';
import { CLIENT_OF_LOGIN } from '../authorization/client-of-login.ts';
import { OidcError } from '../oidc-error.ts';
import type { SealKeys } from '../tokens/sealed-bytes.ts';
import { beginGrantedSession, type GrantedSession, type NewGrant } from './granted-session.ts';
import { FOUND, insertGrant } from './insert-grant.ts';
import {
  type CodeCall,
  type CodeRequest,
  type RedeemedLogin,
  readCodeRequest,
  redeemCode,
  redeemedIntent,
} from './redeem-code.ts';
import { requireEntryToClient } from './require-entry-to-client.ts';

interface GrantingCall extends CodeCall {
  readonly isPublic: boolean;
  readonly peer: Peer;
}

interface BeginParts {
  readonly codeKeys: SealKeys;
  readonly maxAgeSeconds: number;
  readonly subscribed: Set<string>;
}

export interface BegunGrant {
  readonly grant: NewGrant;
  readonly session: GrantedSession;
  readonly nonce: string | null;
}

/**
 * Redeems a code, begins its grant, and finds or begins the session, in one statement. It takes two statements where
 * the intent may be on another server, for applications whose webhooks get a message about the session, and for the
 * restricted client of a resource.
 *
 * @throws OidcError `invalid_grant` for every reason
 */
export async function beginGrant(
  call: GrantingCall,
  { codeKeys, maxAgeSeconds, subscribed }: BeginParts,
  request: CodeRequest,
): Promise<BegunGrant> {
  const { peer, run } = call;
  const code = readCodeRequest(call, codeKeys, request);
  const rotation = rotationOf(call);
  const session = newSession(call);
  const begunAtOnce =
    subscribed.has(call.application.id) || call.client?.restrictAccess
      ? undefined
      : await run(formFor(REDEEM_AND_BEGIN, call.application), {
          ...code,
          ...peer,
          ...session,
          maxAgeSeconds,
          rotation,
        });
  if (!begunAtOnce) return beginGrantOf(call, { maxAgeSeconds, subscribed }, await redeemCode(call, code));
  const [begun] = begunAtOnce;
  if (!begun) throw new OidcError('invalid_grant');
  const { nonce, login, ...found } = begun;
  const { loginUserId: userId, loginMethod: method, loginAssurance: assurance, ...rest } = login;
  const known = { ...rest, userId, method, assurance, sid: found.sid, loginIntentId: code.loginIntentId };
  const grant = toGrant(call, maxAgeSeconds, known);
  const firstTry = { found, id: session.id };
  return { grant, nonce, session: await beginGrantedSession(call, subscribed, peer, grant, firstTry) };
}

/**
 * Begins the grant of a login that was redeemed.
 *
 * @throws OidcError `invalid_grant` as `requireEntryToClient` and `beginGrantedSession` do
 */
export async function beginGrantOf(
  call: GrantingCall,
  { maxAgeSeconds, subscribed }: Omit<BeginParts, 'codeKeys'>,
  { nonce, ...login }: RedeemedLogin,
): Promise<BegunGrant> {
  await requireEntryToClient(call, login.userId);
  const grant = toGrant(call, maxAgeSeconds, login);
  return { grant, nonce, session: await beginGrantedSession(call, subscribed, call.peer, grant) };
}

function toGrant(
  call: Pick<GrantingCall, 'isPublic'>,
  maxAgeSeconds: number,
  { loginIntentId: grantId, ...login }: Omit<RedeemedLogin, 'nonce'>,
): NewGrant {
  const endsAt = new Date(login.authenticatedAt.getTime() + maxAgeSeconds * 1_000);
  return { ...login, grantId, endsAt, rotation: rotationOf(call) };
}

const rotationOf = ({ isPublic }: Pick<GrantingCall, 'isPublic'>) => (isPublic ? 1 : 0);

const latestEnd = sql`caller.authenticated_at + ${p.integer('maxAgeSeconds')} * interval '1 second'`;

const signIn: SignInColumns = {
  userId: sql`(select user_id from redeemed)`,
  method: sql`caller.method`,
  assurance: sql`caller.assurance`,
  authenticatedAt: sql`caller.authenticated_at`,
  expiresAt: sql`least(${p.instant('expiresAt')}, ${latestEnd})`,
  join: sql`join redeemed on true`,
};

const origin: OriginColumns = {
  address: sql`caller.origin_address`,
  userAgent: sql`caller.origin_user_agent`,
  browser: sql`caller.origin_browser`,
  onBehalfBy: sql`caller.on_behalf_by`,
  join: sql``,
};

/** The result of `sidOf`, or the ID of the intent if the user signed in on a page other than Usher's. */
const sidFrom = (row: SQL) => {
  const ofBrowser = computeSid(p.uuid('applicationId'), sql`${row}.user_id`, sql`${row}.origin_browser`);
  return sql`coalesce(${ofBrowser}, ${p.uuid('loginIntentId')})`;
};

const grant = insertGrant({
  grantId: p.uuid('loginIntentId'),
  sid: sidFrom(sql`caller`),
  scope: sql`caller.scope`,
  method: signIn.method,
  assurance: signIn.assurance,
  address: origin.address,
  userAgent: origin.userAgent,
  browser: origin.browser,
  onBehalfBy: origin.onBehalfBy,
  authenticatedAt: signIn.authenticatedAt,
  endsAt: latestEnd,
  forClient: sql`caller.for_client`,
  clientName: sql`caller.client_name`,
  needsConsent: sql`caller.needs_consent`,
  scopeNames: sql`caller.scope_names`,
});

const REDEEMED = {
  nonce: loginIntents.nonce,
  login: {
    loginUserId: t.uuid,
    loginMethod: t.textOf<SignInMethod>(),
    loginAssurance: t.integer,
    authenticatedAt: t.instant,
    scope: t.integer,
    originAddress: loginIntents.ipAddress,
    originUserAgent: loginIntents.userAgent,
    originBrowser: loginIntents.browserDigest,
    onBehalfBy: loginIntents.onBehalfBy,
    ...CLIENT_OF_LOGIN,
  },
};

/** Returns no row if the user cannot sign in. The code is redeemed nevertheless. */
const REDEEM_AND_BEGIN = inForms(
  'redeem_code_and_begin_session',
  (name, attributesOf) =>
    statement(name, {
      ...FOUND,
      ...REDEEMED,
    }).ifWhole`${findOrBegin(origin, 'unless asked', {
      attributesOf,
      hasCurrentProfile: grant.hasCurrentProfile,
      signIn,
      first: sql`${redeemedIntent},`,
      audited: sql`redeemed`,
      condition: sql`and ${isStillHere(sql`redeemed.authenticated_at`, { sid: sidFrom(sql`redeemed`), userId: sql`redeemed.user_id`, browserDigest: sql`redeemed.origin_browser` })}`,
      ofCaller: sql`${grant.ofCaller}, redeemed.*`,
      ctes: grant.ctes,
      columns: sql`${grant.columns}, caller.nonce, caller.user_id as login_user_id, caller.method as login_method,
    caller.assurance as login_assurance,
    caller.authenticated_at, caller.scope, caller.origin_address, caller.origin_user_agent, caller.origin_browser,
    caller.on_behalf_by, caller.for_client, caller.client_name, caller.needs_consent, caller.scope_names`,
    })}`,
);
