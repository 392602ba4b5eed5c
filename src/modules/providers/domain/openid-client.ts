/** Signs in at a provider of OpenID Connect. */
import * as openid from 'openid-client';
import { levelOfClaims } from '../assurance-table.ts';
import type { LoginProvider, TokenEndpointAuthMethod } from '../parse-login-providers.ts';
import { nameOAuthError } from './oauth-errors.ts';
import {
  type AuthorizationOptions,
  type AuthorizationSecrets,
  type Identity,
  type ProviderClient,
  ProviderError,
} from './provider-client.ts';
import { createProviderFetch, isOnLoopback } from './provider-fetch.ts';
import { type IdentityClaims, isEmailVerified } from './verified-email.ts';

const METADATA_LIFETIME_MS = 3_600_000;
/** The time between two attempts to renew old metadata. */
const RETRY_AFTER_MS = 60_000;
/** When a token names an unknown key, the library fetches the keys again only if they are at least this old. */
const LIBRARY_KEY_AGE_SECONDS = 60;
/** Keys may change sooner, so Usher lets the library fetch them again at this age. */
const KEY_AGE_SECONDS = 5;
const SCOPE = 'openid email profile';

/** The package `openid-client`, configured for one provider. It keeps old metadata while the provider is down. */
export class OpenIdClient implements ProviderClient {
  readonly #provider: LoginProvider;
  readonly #timeoutMs: number;
  readonly #fetch: openid.CustomFetch;
  readonly #extensions: ((configuration: openid.Configuration) => void)[];
  #configuration: openid.Configuration | undefined;
  #renewal: Promise<openid.Configuration> | undefined;
  /** Before this time of `performance.now()`, the metadata are not renewed. */
  #freshUntil = 0;

  constructor(provider: LoginProvider, timeoutMs: number) {
    this.#provider = provider;
    this.#timeoutMs = timeoutMs;
    const isLoopback = isOnLoopback(new URL(provider.issuer));
    this.#fetch = createProviderFetch({ timeoutMs, isLoopback }) as openid.CustomFetch;
    // Equivalent: choice: the fetch above refuses http elsewhere, too
    const insecure = isLoopback ? [openid.allowInsecureRequests] : [];
    // By default, the library does not verify the signature of an ID token from the token endpoint.
    this.#extensions = [openid.enableNonRepudiationChecks, ...insecure];
  }

  async authorizationUrl(
    { state, nonce, codeVerifier }: AuthorizationSecrets,
    { redirectUri, loginHint, freshness, stepsUp = false, asksAgain = false }: AuthorizationOptions,
  ): Promise<URL> {
    const configuration = await this.#configure();
    return openid.buildAuthorizationUrl(configuration, {
      ...(stepsUp && this.#provider.stepUp),
      redirect_uri: redirectUri,
      scope: SCOPE,
      state,
      nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      ...(loginHint && { login_hint: loginHint }),
      ...(freshness && { max_age: String(freshness.maxAgeSeconds) }),
      ...((asksAgain || freshness?.maxAgeSeconds === 0) && { prompt: 'login' }),
    });
  }

  async identify(callback: URL, { state, nonce, codeVerifier }: AuthorizationSecrets): Promise<Identity> {
    const configuration = this.#ageKeys(await this.#configure());
    const checks = {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    };
    const tokens = await this.#explain(openid.authorizationCodeGrant(configuration, callback, checks));
    const claims = tokens.claims();
    // Equivalent: guard: the library has demanded an ID token, and has claims of every one
    if (!claims) throw new ProviderError('no ID token');
    const all = await this.#complete(configuration, tokens.access_token, claims);
    return { ...toIdentity(all, claims.auth_time), assurance: levelOfClaims(this.#provider.assurance, claims) };
  }

  async #explain<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      const metadata = this.#configuration?.serverMetadata();
      const method = metadata ? chooseAuthMethod(this.#provider, metadata) : '';
      throw explainOpenIdFault(error, { issuer: this.#provider.issuer, metadata, method });
    }
  }

  /**
   * Adds the claims of the userinfo endpoint if the ID token has no address: many providers send it only there. If the
   * endpoint refuses, the person is known nevertheless.
   */
  async #complete(configuration: openid.Configuration, accessToken: string, claims: openid.IDToken): Promise<IdClaims> {
    if (claims.email !== undefined || !configuration.serverMetadata().userinfo_endpoint) return claims;
    try {
      const profile = await this.#explain(openid.fetchUserInfo(configuration, accessToken, claims.sub));
      return { ...profile, ...claims };
    } catch (error) {
      if (isRefusedRequest(error)) return { ...claims, [PROBLEM]: error.message };
      throw error;
    }
  }

  async #configure(): Promise<openid.Configuration> {
    // Equivalent: comparison: the clock has fractions of milliseconds
    if (this.#configuration && performance.now() < this.#freshUntil) return this.#configuration;
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    // Sign-ins wait only for the first metadata. Later, they use the old ones during a renewal.
    if (!this.#configuration) return await this.#renewal;
    this.#renewal.catch(() => {});
    return this.#configuration;
  }

  /**
   * Returns a configuration that makes the library believe its keys are old: it offers no other way to fetch them
   * again.
   */
  #ageKeys(configuration: openid.Configuration): openid.Configuration {
    const cached = openid.getJwksCache(configuration);
    const now = Math.floor(Date.now() / 1000);
    if (!cached || now - cached.uat < KEY_AGE_SECONDS) return configuration;
    // Equivalent: guard, comparison: to the library they are old already
    if (now - cached.uat >= LIBRARY_KEY_AGE_SECONDS) return configuration;
    const { clientId, clientSecret } = this.#provider;
    const authentication = authenticateClient(this.#provider);
    const aged = new openid.Configuration(configuration.serverMetadata(), clientId, clientSecret, authentication);
    aged[openid.customFetch] = this.#fetch;
    aged.timeout = configuration.timeout;
    for (const extend of this.#extensions) extend(aged);
    openid.setJwksCache(aged, { ...cached, uat: now - LIBRARY_KEY_AGE_SECONDS });
    this.#configuration = aged;
    return aged;
  }

  async #renew(): Promise<openid.Configuration> {
    // Set before the attempt, so that a failed one is not repeated at every sign-in while there are old metadata.
    this.#freshUntil = performance.now() + RETRY_AFTER_MS;
    const { clientId, clientSecret, issuer } = this.#provider;
    const authentication = authenticateClient(this.#provider);
    const discovery = openid.discovery(new URL(issuer), clientId, clientSecret, authentication, {
      [openid.customFetch]: this.#fetch,
      execute: this.#extensions,
      timeout: this.#timeoutMs / 1000,
    });
    this.#configuration = await this.#explain(discovery);
    this.#freshUntil = performance.now() + METADATA_LIFETIME_MS;
    return this.#configuration;
  }
}

/** Not a claim, which the provider could send. */
const PROBLEM = Symbol('problem');

type IdClaims = IdentityClaims & { readonly iss: string; readonly sub: string; readonly [PROBLEM]?: string };

/** @param authTime that of the ID token, which alone is signed */
function toIdentity(claims: IdClaims, authTime: number | undefined): Omit<Identity, 'assurance'> {
  const { iss, sub, email, name } = claims;
  // The library accepts any string, but Postgres stores no NUL. OpenID Connect allows 255 ASCII characters.
  if (!/^[\x20-\x7e]{1,255}$/.test(sub)) throw new ProviderError('malformed subject');
  return {
    issuer: iss,
    subject: sub,
    email: typeof email === 'string' ? email : '',
    isEmailVerified: isEmailVerified(iss, claims),
    name: typeof name === 'string' ? name : '',
    authenticatedAt: toInstant(authTime),
    problem: claims[PROBLEM],
  };
}

/** @param seconds since 1970. The library refuses an ID token in which it is not a number from 0. */
function toInstant(seconds = Number.POSITIVE_INFINITY): Date | undefined {
  return seconds < 2 ** 32 ? new Date(seconds * 1_000) : undefined;
}

/**
 * Returns how Usher sends its client secret to the token endpoint: by the method of the file, or else by one that the
 * provider lists. Providers that list none support Basic (OpenID Connect Discovery). If both are listed, the body is
 * safer: there are several ways to encode a secret for Basic.
 */
function chooseAuthMethod(
  { tokenEndpointAuthMethod }: LoginProvider,
  { token_endpoint_auth_methods_supported: listed }: openid.ServerMetadata,
): TokenEndpointAuthMethod {
  if (tokenEndpointAuthMethod) return tokenEndpointAuthMethod;
  return listed?.includes('client_secret_post') ? 'client_secret_post' : 'client_secret_basic';
}

/** Returns the authentication for the library, which decides when the metadata are known. */
function authenticateClient(provider: LoginProvider): openid.ClientAuth {
  const inBody = openid.ClientSecretPost(provider.clientSecret);
  return (server, client, body, headers) => {
    const method = chooseAuthMethod(provider, server);
    if (method === 'client_secret_post') return inBody(server, client, body, headers);
    const credentials = `${encode(provider.clientId)}:${encode(provider.clientSecret)}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

/**
 * Encodes as forms do (RFC 6749, section 2.3.1). The library also encodes `-`, `.` and `_`, which providers that do not
 * decode would refuse.
 */
function encode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

/** Returns whether an endpoint has answered an explained request with another status than 200. */
function isRefusedRequest(error: unknown): error is ProviderError {
  // Equivalent: guard: no other error has such a cause
  if (!(error instanceof ProviderError)) return false;
  const { cause } = error;
  return (
    cause instanceof openid.WWWAuthenticateChallengeError || Object(cause).code === 'OAUTH_RESPONSE_IS_NOT_CONFORM'
  );
}

interface Asked {
  readonly issuer: string;
  /** How the client secret was sent. */
  readonly method: string;
  /** Undefined while they are fetched. */
  readonly metadata: openid.ServerMetadata | undefined;
}

/** Returns an error with the cause, or the given error if it is none of the library's: then the network has failed. */
function explainOpenIdFault(error: unknown, asked: Asked): unknown {
  const detail = describe(error, asked);
  return detail === undefined ? error : new ProviderError(detail, { cause: error });
}

function describe(error: unknown, { issuer, method, metadata }: Asked): string | undefined {
  if (error instanceof openid.ResponseBodyError) {
    if (error.error === 'invalid_client') return `client secret refused (${method})`;
    return `${endpointOf(error.response, metadata)} answered ${nameOAuthError(error.error, String(error.status))}`;
  }
  if (error instanceof openid.WWWAuthenticateChallengeError) {
    const endpoint = endpointOf(error.response, metadata);
    if (endpoint === 'token_endpoint') return `client secret refused (${method})`;
    return `${isRefusal(error.status) ? 'no permission: ' : ''}${endpoint} answered ${error.status}`;
  }
  // The library wraps its errors once or twice. The innermost cause has the values.
  const { code, cause: inner } = Object(error);
  const cause = Object(Object(inner).cause ?? inner);
  switch (code) {
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
    case 'OAUTH_RESPONSE_IS_NOT_JSON':
      return describeResponse(inner, metadata);
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
      if (cause.attribute !== 'issuer') return `unexpected ${cause.attribute} of the userinfo_endpoint`;
      return compareIssuer('issuer of the metadata', 'the file', cause.body?.issuer, issuer);
    case 'OAUTH_JWT_CLAIM_COMPARISON_FAILED':
      if (cause.claim !== 'iss') return `unexpected ${cause.claim} of the ID token`;
      return compareIssuer('iss of the ID token', 'the metadata', cause.claims?.iss, cause.expected);
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      return compareClocks(cause);
    case 'OAUTH_KEY_SELECTION_FAILED':
      return 'unknown signing key of the ID token';
    default:
      return undefined;
  }
}

function describeResponse(response: unknown, metadata: openid.ServerMetadata | undefined): string | undefined {
  // Equivalent: guard: the library gives the answer as the cause of these errors
  if (!(response instanceof Response)) return undefined;
  const endpoint = endpointOf(response, metadata);
  if (response.status === 200) return `${endpoint} answered without JSON`;
  return `${isRefusal(response.status) ? 'no permission: ' : ''}${endpoint} answered ${response.status}`;
}

function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

/** Returns the name of the URL in the metadata. */
function endpointOf({ url }: Response, metadata: openid.ServerMetadata | undefined): string {
  const names = ['token_endpoint', 'userinfo_endpoint', 'jwks_uri'] as const;
  return names.find((name) => URL.parse(String(metadata?.[name]))?.href === url) ?? 'openid-configuration';
}

function compareIssuer(what: string, where: string, given: unknown, expected: unknown): string {
  const isSlash = `${given}/` === expected || given === `${expected}/`;
  return isSlash ? `${what} differs from ${where} by a slash at its end` : `unexpected ${what}`;
}

function compareClocks({ claim, claims, now }: Record<string, unknown>): string {
  const seconds = Number(Object(claims)[String(claim)]) - Number(now);
  // Equivalent: comparison: the library tolerates half a minute
  const side = seconds < 0 ? 'past' : 'future';
  return `clocks differ: ${claim} of the ID token is ${Math.abs(seconds)} s in the ${side}`;
}
