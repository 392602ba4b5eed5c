/** What tests of OpenID Connect share. */
import { hash } from 'node:crypto';
import type { JWK } from 'jose';
import { takeRsaKeyPair } from './issuer.ts';
import type { LoginBrowser } from './login-browser.ts';
import { REDIRECT_URI, type Tenant } from './service.ts';

/** Returns a private key for `oidcSigningKeys`. */
export function createRsaJwk(kid = 'rsa'): JWK {
  const { privateKey } = takeRsaKeyPair();
  return { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', kid };
}

/** The verifier of the requests of `authorizationOf`. */
export const CODE_VERIFIER = 'v'.repeat(43);
const CODE_CHALLENGE = hash('sha256', CODE_VERIFIER, 'base64url');

/** An authorization request of the application, with parameters that are changed, added or, if undefined, left out. */
export function authorizationOf(
  { clientId }: Pick<Tenant, 'clientId'>,
  changes: Readonly<Record<string, string | undefined>> = {},
): URLSearchParams {
  const parameters = {
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'openid email',
    state: 'a state & of the application',
    nonce: 'a nonce',
    code_challenge: CODE_CHALLENGE,
    code_challenge_method: 'S256',
    ...changes,
  };
  const entries = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(entries);
}

/** Sends the authorization request from a browser, and returns the login that it has begun. */
export async function beginOidcLogin(
  browser: LoginBrowser,
  tenant: Pick<Tenant, 'clientId'>,
  changes: Readonly<Record<string, string | undefined>> = {},
) {
  const { status, location = '' } = await browser.open(`/oidc/authorize?${authorizationOf(tenant, changes)}`);
  if (status !== 303) throw new Error(`The authorization endpoint has answered ${status}`);
  return loginAt(location, changes.state);
}

/** Returns the login at the URL to which the authorization endpoint has sent the browser. */
export function loginAt(location: string | undefined, state = '') {
  const { origin, pathname, search, searchParams } = new URL(location ?? '');
  return { loginIntentId: searchParams.get('intent') ?? '', path: pathname + search, origin, state };
}

/** Returns the parameters of the query. */
export function parametersOf(url: string | undefined): Record<string, string> {
  return Object.fromEntries(new URL(url ?? '').searchParams);
}
