/** Issues the tokens of OpenID Connect, for a code or a refresh token. */
import type { Logger } from 'pino';
import type { ResourceScope } from '../../../../database/schema/column-types.ts';
import type { ApplicationCall } from '../../../../domain/core/call.ts';
import { hasReason } from '../../../../domain/core/errors.ts';
import { hasScope } from '../../../../domain/grants/scope.ts';
import { renewSession } from '../../../../domain/sessions/renew-session.ts';
import type { Peer } from '../../../../domain/sessions/session.ts';
import { isClientUrl } from '../../clients/client-url.ts';
import { pollDeviceLogin } from '../devices/poll-device-login.ts';
import { type BegunGrant, beginGrant, beginGrantOf, requireEntryToClient } from '../grants/begin-grant.ts';
import { continueGrantedSession, type GrantedSession } from '../grants/granted-session.ts';
import type { LiveGrants } from '../grants/live-grants.ts';
import { narrowScope, requireGrantedName } from '../grants/narrow-scope.ts';
import type { CodeCall, CodeRequest } from '../grants/redeem-code.ts';
import { rotateGrant } from '../grants/rotate-grant.ts';
import { OidcError } from '../oidc-error.ts';
import { createAccessToken } from '../tokens/access-token.ts';
import { chooseUsername, idTokenClaims, type OnLeftOut } from '../tokens/id-token.ts';
import type { OidcProvider } from '../tokens/provider.ts';
import { createRefreshToken, type RefreshToken, readRefreshToken } from '../tokens/refresh-token.ts';
import { namesIn, presentScopes, toBits, toNames } from '../tokens/scope-names.ts';

export interface IssuingParts {
  readonly provider: OidcProvider;
  readonly issuer: string;
  readonly logger: Logger;
  readonly sessionMaxAgeSeconds: number;
  /** Applications known to have a webhook for `session.created`: they try the slower statement first. */
  readonly subscribed: Set<string>;
}

export interface RefreshingParts extends IssuingParts {
  /** Makes this replica read the user's sessions and grants again. */
  readonly forgetUser: (userId: string) => void;
  readonly liveGrants: LiveGrants;
}

/** A call of a client. Public clients send no secret, and their refresh tokens rotate. */
interface IssuingCall extends CodeCall {
  /** What clients may ask for, if the application is a resource. */
  readonly resourceScopes: readonly ResourceScope[];
  readonly isPublic: boolean;
  readonly peer: Peer;
}

export interface IssuedTokens {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  /** Undefined if the request of a refresh has a scope without `openid`. */
  readonly idToken: string | undefined;
  /** Undefined if the client has got the token of its own. */
  readonly refreshToken: string | undefined;
  readonly scope: string;
}

/** Redeems a code. @throws OidcError `invalid_grant` */
export async function tokensForCode(
  call: IssuingCall,
  parts: IssuingParts,
  request: CodeRequest,
): Promise<IssuedTokens> {
  const { tokenKeys } = parts.provider;
  const maxAgeSeconds = maxAgeMsOf(call, parts) / 1_000;
  return issueFirst(
    call,
    parts,
    await beginGrant(call, { ...parts, codeKeys: tokenKeys.code, maxAgeSeconds }, request),
  );
}

/** Redeems the login of a device. @throws OidcError as `pollDeviceLogin` does */
export async function tokensForDevice(
  call: IssuingCall,
  parts: IssuingParts,
  deviceCode: string,
): Promise<IssuedTokens> {
  const login = await pollDeviceLogin(call, parts.provider.tokenKeys, deviceCode);
  const maxAgeSeconds = maxAgeMsOf(call, parts) / 1_000;
  return issueFirst(call, parts, await beginGrantOf(call, { ...parts, maxAgeSeconds }, login));
}

/** Issues the tokens of a grant that has begun. */
async function issueFirst(call: IssuingCall, parts: IssuingParts, begun: BegunGrant): Promise<IssuedTokens> {
  const isForClient = call.forClient !== null;
  const token = { ...begun.grant, applicationId: call.application.id, isForClient };
  const session = await prolong(call, parts, begun.session);
  const { scopeNames } = begun.grant;
  return issue(call, parts, token, { session: { ...session, scopeNames }, nonce: begun.nonce, scope: token.scope });
}

/** Redeems a refresh token. @throws OidcError `invalid_grant`, `invalid_scope` */
export async function refreshTokens(
  call: IssuingCall,
  parts: RefreshingParts,
  request: { readonly refreshToken: string; readonly scope: string | undefined },
): Promise<IssuedTokens> {
  const { application, now } = call;
  const token = readRefreshToken(parts.provider.tokenKeys.refreshToken, request.refreshToken);
  // `endsAt` does not suffice: the operator may have shortened the maximum age since the token was issued.
  const isUsable =
    token &&
    token.applicationId === application.id &&
    token.isForClient === (call.forClient !== null) &&
    token.endsAt > now &&
    token.authenticatedAt.getTime() + maxAgeMsOf(call, parts) > now.getTime() &&
    // A token that was issued to a confidential client is refused without the secret.
    (token.rotation > 0 || !call.isPublic);
  if (!isUsable) throw new OidcError('invalid_grant');
  const scope = narrowScope(token.scope, request.scope, call.resourceScopes);
  if (scope === 0 && request.scope !== undefined) await requireGrantedName(parts, token, request.scope);
  await requireEntryToClient(call, token.userId);
  const rotate = () => rotateGrant(call, token).finally(() => parts.forgetUser(token.userId));
  const rotation = token.rotation > 0 ? await rotate() : 0;
  const session = await prolong(call, parts, await continueGrantedSession(call, token));
  const asked = request.scope;
  return issue(call, parts, { ...token, rotation }, { session, nonce: null, scope, asked });
}

function maxAgeMsOf({ application }: ApplicationCall, { sessionMaxAgeSeconds }: IssuingParts): number {
  return (application.sessionMaxAgeSeconds ?? sessionMaxAgeSeconds) * 1_000;
}

/** Renews the session if half of its lifetime is over. */
async function prolong(call: ApplicationCall, parts: IssuingParts, session: GrantedSession): Promise<GrantedSession> {
  const { now } = call;
  const isHalfOver = now.getTime() - session.createdAt.getTime() >= session.expiresAt.getTime() - now.getTime();
  if (!isHalfOver) return session;
  try {
    const { id, expiresAt } = await renewSession(call, parts, { sessionId: session.id });
    return { ...session, id, expiresAt };
  } catch (error) {
    // The session was revoked meanwhile.
    throw hasReason(error, 'SESSION_EXPIRED') ? new OidcError('invalid_grant') : error;
  }
}

async function issue(
  { application, forClient, now, resourceScopes }: IssuingCall,
  { provider, issuer, logger }: IssuingParts,
  token: RefreshToken,
  {
    session,
    nonce,
    scope,
    asked,
  }: { session: GrantedSession; nonce: string | null; scope: number; asked?: string | undefined },
): Promise<IssuedTokens> {
  const { signingKeys, tokenKeys } = provider;
  const { applicationId, grantId, userId, method, authenticatedAt } = token;
  const clientId = forClient ?? application.clientId;
  const facts = {
    issuer,
    clientId,
    userId,
    method,
    authenticatedAt,
    nonce,
    scope,
    profile: {
      ...session,
      preferredUsername: chooseUsername(session, clientId),
      // What operators store about a user is for clients that they know.
      ...(isClientUrl(clientId) && { attributes: null }),
    },
    now,
    assurance: session.grantAssurance,
  };
  const onLeftOut = reportLeftOut(logger, applicationId);
  const granted = session.scopeNames ?? [];
  // What the resource no longer has, nobody gets.
  const present = toNames(resourceScopes).filter((name) => granted.includes(name));
  const chosen = asked === undefined ? present : namesIn(asked, present);
  const names = token.isForClient ? toBits(granted, chosen) : undefined;
  return {
    accessToken: createAccessToken(tokenKeys.accessToken, {
      scope,
      applicationId,
      sessionId: session.id,
      grantId,
      names,
    }),
    expiresInSeconds: Math.floor((session.expiresAt.getTime() - now.getTime()) / 1_000),
    idToken: hasScope(scope, 'openid')
      ? await signingKeys.sign(idTokenClaims({ ...facts, sid: session.sid, onLeftOut }))
      : undefined,
    refreshToken: createRefreshToken(tokenKeys.refreshToken, token),
    scope: presentScopes(scope, chosen),
  };
}

/** Returns a function that logs the name of an attribute for which a token has no room. */
export function reportLeftOut(logger: Logger, applicationId: string): OnLeftOut {
  return (attribute) => logger.warn({ applicationId, attribute }, 'attribute left out of token');
}
