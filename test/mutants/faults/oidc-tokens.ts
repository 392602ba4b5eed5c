import { type Fault, inFolder } from '../fault.ts';

const tokens = 'test/oidc/tokens.test.ts';
const clients = 'test/oidc/public-clients.test.ts';
const redemption = 'test/oidc/redemption.test.ts';
const code = 'test/login-page/oidc/code.test.ts';
const logOut = 'test/login-page/oidc/log-out.test.ts';
const silent = 'test/login-page/oidc/silent.test.ts';
const verified = 'test/login-page/oidc/verified-email.test.ts';
const signed = 'test/domain/oidc/id-token.test.ts';

/** What the provider of OpenID Connect says, for how long, and whom it believes. */
export const OIDC_TOKEN_FAULTS: readonly Fault[] = [
  ...inFolder('src/login-page/oidc', [
    {
      what: 'prompt=none takes the ID token of another application as a hint',
      file: 'continue-silently.ts',
      find: 'hint?.clientId !== client.clientId',
      replace: 'hint === undefined',
      test: silent,
      title: /takes no id_token_hint of another application/,
    },
    {
      what: 'prompt=none takes no notice of a hint that is no ID token',
      file: 'continue-silently.ts',
      find: 'idTokenHint !== undefined && hint?.clientId !== client.clientId',
      replace: 'hint !== undefined && hint.clientId !== client.clientId',
      test: silent,
      title: /needs that of the user of id_token_hint/,
    },
    {
      what: 'Any site signs a person out, who is not asked',
      file: 'log-out.ts',
      find: "if (!isOwnForm(own.browser, parameters.get('token') ?? ''))",
      replace: "if (!parameters.get('token'))",
      test: logOut,
      title: /without a valid ID token/,
    },
    {
      what: 'A logout leaves the account page signed in',
      file: 'log-out.ts',
      find: 'await signUserOutHere(own, login.hint.userId);',
      replace: 'await Promise.resolve(signUserOutHere);',
      test: logOut,
      title: /signs the user out of the account page in that browser/,
    },
    {
      what: 'Tokens work for seconds after a logout',
      file: 'log-out.ts',
      find: "name: '' } }, { userId });\n  await parts.onSignedOut(userId);",
      replace: "name: '' } }, { userId });",
      test: logOut,
      title: /ends tokens at once that were in use/,
    },
    {
      what: 'A network has any number of ID tokens checked',
      file: 'named-login.ts',
      find: 'takeOidcPermits(request, parts.logouts);',
      replace: '',
      test: logOut,
      title: /allows a network 600 logouts a minute/,
    },
  ]),
  ...inFolder('src/domain/oidc', [
    {
      what: 'Each use of a replaced refresh token gives it another 30 seconds',
      file: 'rotate-grant.ts',
      find: "rotated_at = case when ${isLatest} then ${p.instant('now')} else rotated_at end",
      replace: "rotated_at = ${p.instant('now')}",
      test: clients,
      title: /gets no more than 30 seconds from when it was replaced/,
    },
    {
      what: 'An ID token is valid for a day',
      file: 'id-token.ts',
      find: 'LIFETIME_SECONDS = 15 * 60',
      replace: 'LIFETIME_SECONDS = 24 * 60 * 60',
      test: signed,
      title: /verifies with the published keys/,
    },
    {
      what: 'The access token of a refresh for less shows all',
      file: 'issue-tokens.ts',
      find: 'createAccessToken(tokenKeys.accessToken, { scope, applicationId',
      replace: 'createAccessToken(tokenKeys.accessToken, { scope: token.scope, applicationId',
      test: tokens,
      title: /for less shows less/,
    },
    {
      what: 'A refresh for less loses the rest of the scope',
      file: 'issue-tokens.ts',
      find: 'createRefreshToken(tokenKeys.refreshToken, token)',
      replace: 'createRefreshToken(tokenKeys.refreshToken, { ...token, scope })',
      test: tokens,
      title: /for less shows less, and a later one has the whole scope again/,
    },
    {
      what: 'A refresh counts as a sign-in',
      file: 'issue-tokens.ts',
      find: '{ ...token, rotation }, { session',
      replace: '{ ...token, rotation, authenticatedAt: call.now }, { session',
      test: tokens,
      title: /returns the same refresh token, and tokens of the same sign-in/,
    },
    {
      what: 'An application gets the address without asking for it',
      file: 'issue-tokens.ts',
      find: 'scope: token.scope });\n}',
      replace: 'scope: token.scope | 4 });\n}',
      test: tokens,
      title: /userinfo shows of the user what the scope allows/,
    },
    {
      what: 'An ID token marks another address than the proved one as verified',
      file: 'issue-tokens.ts',
      find: 'session.verifiedEmail === session.email',
      replace: 'session.verifiedEmail !== null',
      test: verified,
      title: /is not true for an address of which the user has proved another/,
    },
    {
      what: 'Userinfo marks another address than the proved one as verified',
      file: 'find-token.ts',
      find: 'grant.verifiedEmail === session.email',
      replace: 'grant.verifiedEmail !== null',
      test: verified,
      title: /is not true for an address of which the user has proved another/,
    },
    {
      what: 'Introspection says that an access token lives as long as its sign-in',
      file: 'find-token.ts',
      find: 'session.expiresAt < grant.expiresAt ? session.expiresAt : grant.expiresAt',
      replace: 'session.expiresAt > grant.expiresAt ? session.expiresAt : grant.expiresAt',
      test: clients,
      title: /tells when a token expires/,
    },
    {
      what: 'A continued sign-in counts as a new one',
      file: 'redeem-code.ts',
      find: 'coalesce(authenticated_at, completed_at) as authenticated_at, scope',
      replace: 'completed_at as authenticated_at, scope',
      test: silent,
      title: /with the instant of the sign-in|tells the instant of the first sign-in/,
    },
    {
      what: 'A code outlives a sign-out on the account page',
      file: 'redeem-code.ts',
      find: ' and ${isSignedInHere(authenticatedAt, browser)}',
      replace: '',
      test: 'test/login-page/oidc/endings.test.ts',
      title: /a code from before a sign-out on the account page/,
    },
    {
      what: 'A grant that begins during the logout of its browser lives on',
      file: 'granted-session.ts',
      find: 'isNewGrant && endLateGrant(call, parameters)',
      replace: 'isNewGrant && endLateGrant === undefined',
      test: redemption,
      title: /a code that is being redeemed while its browser logs out/,
    },
    {
      what: 'Tokens live on where OpenID Connect was turned off',
      file: 'live-grants.ts',
      find: ' and a.open_id_connect and',
      replace: ' and',
      test: tokens,
      title: /refuses a token of an application that offers no OpenID Connect/,
    },
    {
      what: 'A code lives on for whoever stays on the page for passkeys for a day',
      file: 'extend-code.ts',
      find: 'LIMIT_MS = 10 * 60_000',
      replace: 'LIMIT_MS = 24 * 60 * 60_000',
      test: code,
      title: /lets the code live no longer for whoever leaves the offer 11 minutes/,
    },
    {
      what: 'Any browser lets a code live on',
      file: 'extend-code.ts',
      find: " and browser_digest = ${p.bytes('browserDigest')} and",
      replace: " and ${p.bytes('browserDigest')} is not null and",
      test: code,
      title: /lets the code live no longer for whoever leaves the offer in another browser/,
    },
  ]),
  ...inFolder('src/api/oidc', [
    {
      what: 'Introspection takes a refresh token for an access token',
      file: 'token-status-endpoints.ts',
      find: "token_type: accessToken ? 'Bearer' : 'refresh_token'",
      replace: "token_type: 'Bearer'",
      test: clients,
      title: /tells when a token expires, and of which kind it is/,
    },
  ]),
];
