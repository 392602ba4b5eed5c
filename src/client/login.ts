/** The two steps of a login, with the checks against login CSRF and mix-up attacks (RFC 9700). */
import type { Client } from '@connectrpc/connect';
import type { AuthService, ExchangeTokenResponse } from '../../gen/usher/v1/auth_pb.ts';

const STATE_BYTES = 32;

/** What a login needs of an `UsherClient`. */
interface LoginClient {
  readonly auth: Client<typeof AuthService>;
  readonly baseUrl: string;
}

export interface StartLoginOptions {
  readonly clientId: string;
  readonly redirectUri: string;
  /** The maximum age of the sign-in. With 0 the user has to sign in again. */
  readonly maxAgeSeconds?: number;
  /** How surely the user must sign in, if the application alone does not demand it. */
  readonly requiredAssurance?: 'TWO_FACTORS' | 'PHISHING_RESISTANT';
  /** The languages to show the login page in: BCP 47 tags separated by spaces. Default: the user's own. */
  readonly locale?: string;
  /** `LOGIN`: the user has to sign in again. `PASSKEYS`: the login page shows the user's passkeys after the sign-in. */
  readonly prompt?: 'LOGIN' | 'PASSKEYS';
  /** 1 to 500 characters that nobody can guess. Default: 43 random characters. */
  readonly state?: string;
}

export interface FinishLoginOptions {
  /** The URL that the browser came back to, or its query. */
  readonly callback: URL | URLSearchParams | string;
  /** The state of the login that this browser started. */
  readonly state: string | undefined;
  /** The `PUBLIC_URL` of Usher. Default: the `baseUrl` of the client. */
  readonly issuer?: string | undefined;
}

/** A login that did not end with a signed-in user. */
export class LoginError extends Error {
  override readonly name = 'LoginError';
  /** Express answers with this status. */
  readonly status = 400;
  /** `canceled`: the user canceled the login. Otherwise the redirect does not belong to a login of this browser. */
  readonly reason: 'canceled' | 'state_mismatch' | 'issuer_mismatch' | 'no_token';

  constructor(reason: LoginError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Starts a login. Redirect the browser to `authUrl`, and bind `state` to that browser, for example in a cookie
 * that is `HttpOnly`.
 *
 * @throws ConnectError
 */
export async function startLogin(
  client: Pick<LoginClient, 'auth'>,
  options: StartLoginOptions,
): Promise<{ authUrl: string; state: string }> {
  const { state = createLoginState() } = options;
  const { authUrl } = await client.auth.generateAuthUrl({ ...options, state });
  return { authUrl, state };
}

/**
 * Finishes a login: checks `state` and `iss` (RFC 9207), and exchanges the auth token for the user and a session.
 *
 * @throws LoginError, or ConnectError if Usher refuses the token
 */
export async function finishLogin(
  client: LoginClient,
  { callback, state, issuer = client.baseUrl }: FinishLoginOptions,
): Promise<ExchangeTokenResponse> {
  const query = readQuery(callback);
  if (!state || query.get('state') !== state) {
    throw new LoginError(
      'state_mismatch',
      'The browser did not start this login, or does not keep cookies of this origin',
    );
  }
  const iss = query.get('iss') ?? '';
  if (withoutSlash(iss) !== withoutSlash(issuer)) {
    const message = `The redirect has the issuer ${JSON.stringify(iss)}, but the expected PUBLIC_URL of Usher is ${issuer}`;
    throw new LoginError('issuer_mismatch', message);
  }
  if (LEFT.includes(query.get('error') ?? '')) throw new LoginError('canceled', 'The user canceled the login');
  const authToken = query.get('authToken');
  if (!authToken) throw new LoginError('no_token', 'The redirect has no auth token');
  return client.auth.exchangeToken({ authToken });
}

/** The second if the user left a login that demands more than one factor (RFC 9470). */
const LEFT: readonly string[] = ['access_denied', 'unmet_authentication_requirements'];

/** Returns 43 random characters. */
export function createLoginState(): string {
  return toBase64url(crypto.getRandomValues(new Uint8Array(STATE_BYTES)));
}

export function toBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (sign) => ({ '+': '-', '/': '_' })[sign] ?? '');
}

function readQuery(callback: URL | URLSearchParams | string): URLSearchParams {
  if (callback instanceof URLSearchParams) return callback;
  return new URL(callback).searchParams;
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}
