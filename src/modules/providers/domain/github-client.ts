/** Signs in at GitHub, which supports OAuth 2.0 without ID tokens. */

import { createHash } from 'node:crypto';
import { ONE_FACTOR } from '../../../domain/core/assurance.ts';
import type { LoginProvider } from '../parse-login-providers.ts';
import { nameOAuthError } from './oauth-errors.ts';
import {
  type AuthorizationOptions,
  type AuthorizationSecrets,
  type Identity,
  type ProviderClient,
  ProviderError,
} from './provider-client.ts';
import { createProviderFetch, isOnLoopback, type ProviderFetch } from './provider-fetch.ts';

/** An item of `GET /user/emails`. */
interface GitHubEmail {
  readonly email?: unknown;
  readonly primary?: unknown;
  readonly verified?: unknown;
}

/** The issuer of github.com. An enterprise server has `https://<host>/login/oauth`. */
export const GITHUB_ISSUER = 'https://github.com/login/oauth';

export class GitHubClient implements ProviderClient {
  readonly #provider: LoginProvider;
  readonly #fetch: ProviderFetch;
  readonly #apiUrl: string;

  constructor(provider: LoginProvider, timeoutMs: number) {
    const { issuer } = provider;
    const { origin } = new URL(issuer);
    this.#provider = provider;
    this.#fetch = createProviderFetch({ timeoutMs, isLoopback: isOnLoopback(new URL(issuer)) });
    this.#apiUrl = issuer === GITHUB_ISSUER ? 'https://api.github.com' : `${origin}/api/v3`;
  }

  async authorizationUrl(
    { state, codeVerifier }: AuthorizationSecrets,
    { redirectUri, loginHint }: AuthorizationOptions,
  ): Promise<URL> {
    const url = new URL(`${this.#provider.issuer}/authorize`);
    url.search = new URLSearchParams({
      client_id: this.#provider.clientId,
      redirect_uri: redirectUri,
      scope: 'user:email',
      state,
      code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
      // GitHub's name for `login_hint`.
      ...(loginHint && { login: loginHint }),
    }).toString();
    return url;
  }

  async identify(callback: URL, { codeVerifier }: AuthorizationSecrets): Promise<Identity> {
    const { issuer, clientId, clientSecret } = this.#provider;
    const { searchParams } = callback;
    // RFC 9207. Each provider has a callback of its own, so `iss` may be missing, but it must not name another issuer.
    if ((searchParams.get('iss') ?? issuer) !== issuer) throw new ProviderError('wrong issuer');
    const form = new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      code: searchParams.get('code') ?? '',
      redirect_uri: callback.origin + callback.pathname,
      code_verifier: codeVerifier,
    });
    const token = await this.#ask(`${issuer}/access_token`, { method: 'POST', body: form });
    const { access_token: accessToken, error } = Object(token);
    if (error === 'incorrect_client_credentials') throw new ProviderError('client secret refused');
    if (error !== undefined) throw new ProviderError(`token endpoint answered ${nameOAuthError(error, 'an error')}`);
    if (typeof accessToken !== 'string' || !/^[\x21-\x7e]{1,2000}$/.test(accessToken))
      throw new ProviderError('no token');
    const headers = { authorization: `Bearer ${accessToken}` };
    const [user, { emails, problem }] = await Promise.all([
      this.#ask(`${this.#apiUrl}/user`, { headers }),
      this.#askEmails(headers),
    ]);
    const { id, name } = Object(user);
    // The ID, because people may rename their account, and others may then take the old `login`.
    if (!Number.isSafeInteger(id) || id <= 0) throw new ProviderError('no account ID');
    const email = primaryEmail(emails);
    return {
      issuer,
      subject: String(id),
      email,
      isEmailVerified: email !== '',
      name: typeof name === 'string' ? name : '',
      assurance: ONE_FACTOR,
      problem,
    };
  }

  /** An app may lack the permission to read addresses. The person is known nevertheless. */
  async #askEmails(headers: Record<string, string>): Promise<{ emails?: unknown; problem?: string }> {
    try {
      return { emails: await this.#ask(`${this.#apiUrl}/user/emails`, { headers }) };
    } catch (error) {
      if (error instanceof ProviderError) return { problem: error.message };
      throw error;
    }
  }

  async #ask(url: string, { headers, ...options }: RequestInit): Promise<unknown> {
    const accepted = { accept: 'application/json', 'user-agent': 'usher', ...headers };
    const response = await this.#fetch(url, { ...options, headers: accepted });
    const { status } = response;
    if (status !== 200) {
      const cause = status === 401 || status === 403 ? 'no permission: ' : '';
      throw new ProviderError(`${cause}${url.slice(url.lastIndexOf('/'))} answered ${status}`);
    }
    return await response.json();
  }
}

/** Returns the primary address if it is verified, or an empty string: an unverified address may be anybody's. */
function primaryEmail(emails: unknown): string {
  const entries: readonly GitHubEmail[] = Array.isArray(emails) ? emails.map(Object) : [];
  const { email } = entries.find(({ primary, verified }) => primary === true && verified === true) ?? {};
  return typeof email === 'string' ? email : '';
}
