/** Signs in at a provider of OpenID Connect. */
import * as openid from 'openid-client';
import {
  type AuthorizationOptions,
  type AuthorizationSecrets,
  type Identity,
  type LoginProvider,
  type ProviderClient,
  ProviderError,
} from './login-provider.ts';
import { createProviderFetch, isOnLoopback } from './provider-fetch.ts';
import { type IdentityClaims, isEmailVerified } from './verified-email.ts';

const METADATA_LIFETIME_MS = 3_600_000;
/** How long metadata that cannot be renewed stays in use before the next attempt. */
const RETRY_AFTER_MS = 60_000;
/** The library asks again for the keys of a provider at an unknown one only when it has had them for a minute. */
const LIBRARY_KEY_AGE_SECONDS = 60;
/** Keys may change sooner. A sign-in with an unknown key asks for the keys again if they are so old. */
const KEY_AGE_SECONDS = 5;
const SCOPE = 'openid email profile';

/** Node.js module `openid-client`, configured for one provider. Its metadata outlive an outage of the provider. */
export class OpenIdClient implements ProviderClient {
  readonly #provider: LoginProvider;
  readonly #timeoutMs: number;
  readonly #fetch: openid.CustomFetch;
  readonly #extensions: ((configuration: openid.Configuration) => void)[];
  #configuration: openid.Configuration | undefined;
  #renewal: Promise<openid.Configuration> | undefined;
  /** Of `performance.now()`. */
  #freshUntil = 0;

  constructor(provider: LoginProvider, timeoutMs: number) {
    this.#provider = provider;
    this.#timeoutMs = timeoutMs;
    const isLoopback = isOnLoopback(new URL(provider.issuer));
    this.#fetch = createProviderFetch({ timeoutMs, isLoopback }) as openid.CustomFetch;
    // Without the first, the library does not check the signature of an ID token that comes from the token endpoint.
    this.#extensions = [openid.enableNonRepudiationChecks, ...(isLoopback ? [openid.allowInsecureRequests] : [])];
  }

  async authorizationUrl(
    { state, nonce, codeVerifier }: AuthorizationSecrets,
    { redirectUri, loginHint }: AuthorizationOptions,
  ): Promise<URL> {
    const configuration = await this.#configure();
    return openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: SCOPE,
      state,
      nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      ...(loginHint && { login_hint: loginHint }),
    });
  }

  async identify(callback: URL, { state, nonce, codeVerifier }: AuthorizationSecrets): Promise<Identity> {
    const configuration = this.#ageKeys(await this.#configure());
    const tokens = await openid.authorizationCodeGrant(configuration, callback, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (!claims) throw new ProviderError('no ID token');
    return toIdentity(await this.#complete(configuration, tokens.access_token, claims));
  }

  /** Adds the claims of the userinfo endpoint, where the ID token has no address: many providers name it only there. */
  async #complete(configuration: openid.Configuration, accessToken: string, claims: openid.IDToken): Promise<IdClaims> {
    if (claims.email !== undefined || !configuration.serverMetadata().userinfo_endpoint) return claims;
    const profile = await openid.fetchUserInfo(configuration, accessToken, claims.sub);
    return { ...profile, ...claims };
  }

  async #configure(): Promise<openid.Configuration> {
    if (this.#configuration && performance.now() < this.#freshUntil) return this.#configuration;
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    // Nobody waits for new metadata while there are old ones.
    if (!this.#configuration) return await this.#renewal;
    this.#renewal.catch(() => {});
    return this.#configuration;
  }

  /** Returns a configuration whose keys count as old: nothing else lets the library ask for them again. */
  #ageKeys(configuration: openid.Configuration): openid.Configuration {
    const { jwks, uat } = openid.getJwksCache(configuration) ?? {};
    const now = Math.floor(Date.now() / 1000);
    if (!jwks || !uat || now - uat < KEY_AGE_SECONDS || now - uat >= LIBRARY_KEY_AGE_SECONDS) return configuration;
    const { clientId, clientSecret } = this.#provider;
    const aged = new openid.Configuration(configuration.serverMetadata(), clientId, clientSecret);
    aged[openid.customFetch] = this.#fetch;
    aged.timeout = configuration.timeout;
    for (const extend of this.#extensions) extend(aged);
    openid.setJwksCache(aged, { jwks, uat: now - LIBRARY_KEY_AGE_SECONDS });
    this.#configuration = aged;
    return aged;
  }

  async #renew(): Promise<openid.Configuration> {
    // Only one attempt at a time, and not at every sign-in during an outage.
    this.#freshUntil = performance.now() + RETRY_AFTER_MS;
    const { clientId, clientSecret, issuer } = this.#provider;
    this.#configuration = await openid.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      [openid.customFetch]: this.#fetch,
      execute: this.#extensions,
      timeout: this.#timeoutMs / 1000,
    });
    this.#freshUntil = performance.now() + METADATA_LIFETIME_MS;
    return this.#configuration;
  }
}

type IdClaims = IdentityClaims & { readonly iss: string; readonly sub: string };

function toIdentity(claims: IdClaims): Identity {
  const { iss, sub, email, name } = claims;
  // The library takes any text, and Postgres no NUL.
  if (!/^[\x20-\x7e]{1,255}$/.test(sub)) throw new ProviderError('malformed subject');
  return {
    issuer: iss,
    subject: sub,
    email: typeof email === 'string' ? email : '',
    isEmailVerified: isEmailVerified(iss, claims),
    name: typeof name === 'string' ? name : '',
  };
}
