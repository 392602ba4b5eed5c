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
const SCOPE = 'openid email profile';

/** Node.js module `openid-client`, configured for one provider. Its metadata outlive an outage of the provider. */
export class OpenIdClient implements ProviderClient {
  readonly #provider: LoginProvider;
  readonly #timeoutMs: number;
  #configuration: openid.Configuration | undefined;
  #renewal: Promise<openid.Configuration> | undefined;
  /** Of `performance.now()`. */
  #freshUntil = 0;

  constructor(provider: LoginProvider, timeoutMs: number) {
    this.#provider = provider;
    this.#timeoutMs = timeoutMs;
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
    const configuration = await this.#configure();
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

  async #renew(): Promise<openid.Configuration> {
    // Only one attempt at a time, and not at every sign-in during an outage.
    this.#freshUntil = performance.now() + RETRY_AFTER_MS;
    const { clientId, clientSecret, issuer } = this.#provider;
    const isLoopback = isOnLoopback(new URL(issuer));
    this.#configuration = await openid.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      [openid.customFetch]: createProviderFetch({ timeoutMs: this.#timeoutMs, isLoopback }) as openid.CustomFetch,
      execute: [openid.enableNonRepudiationChecks, ...(isLoopback ? [openid.allowInsecureRequests] : [])],
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
