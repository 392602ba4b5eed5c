/** Sessions of browsers, for any framework: reads the cookies, and returns the cookies to set. */
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import { reasonOf } from './errors.ts';
import { createLoginState, finishLogin, LoginError, startLogin, toBase64url } from './login.ts';
import { toOwnPath } from './own-path.ts';
import { readOwnSignIn, toOwnSignIn } from './own-sign-in.ts';
import { ignoreUnavailable, SessionChecks } from './session-checks.ts';
import type { BrowserLoginOptions, BrowserReply, BrowserSessionOptions, FreshSignIn } from './session-handlers.ts';

const DEFAULT_TIMEOUT_MS = 2_000;
/** Prefix of the `state` of a restarted login. `createLoginState` never returns this character. */
const RESTARTED = '~';

const FRESH_SECONDS = 900;
const LEVELS = { TWO_FACTORS: 2, PHISHING_RESISTANT: 3 } as const;

const NOBODY = { session: undefined, cookies: [] };

/** Keeps the ID of the session in a cookie that scripts and other sites cannot read. */
export class BrowserSessions {
  readonly #options: BrowserSessionOptions;
  readonly #cookies: SessionCookies;
  readonly #checks: SessionChecks;

  constructor(options: BrowserSessionOptions) {
    this.#options = options;
    const { boundMs, client, idleSeconds, maxStalenessMs, redirectUri, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    this.#cookies = new SessionCookies({ isSecure: new URL(redirectUri).protocol === 'https:', idleSeconds });
    this.#checks = new SessionChecks({ boundMs, client, maxStalenessMs, timeoutMs });
  }

  /**
   * Checks the session that the `Cookie` header names. Renews the session in the second half of its life, and after it
   * has expired if the application allows that. Does not remove the cookie of an ended session: a newer login may have
   * replaced it before this reply arrives.
   *
   * @throws ConnectError if Usher cannot check it
   */
  async check(header: string | undefined): Promise<{ session: ActiveSession | undefined; cookies: readonly string[] }> {
    const sessionId = this.#cookies.readSession(header);
    if (!sessionId) return NOBODY;
    const start = performance.now();
    const session = await this.#checks.find(sessionId);
    if (!session) return this.#checks.hasEnded(sessionId) ? NOBODY : this.#revive(sessionId, start);
    const renewedId = isHalfOver(session) ? await this.#renew(sessionId) : sessionId;
    return { session, cookies: this.#toCookies(sessionId, renewedId, start) };
  }

  /**
   * Returns a redirect to Usher unless the user is signed in, and the last sign-in in this browser is what is needed.
   *
   * @throws ConnectError
   */
  async requireFreshSignIn(
    header: string | undefined,
    needed: FreshSignIn,
    returnTo?: string,
  ): Promise<BrowserReply | undefined> {
    const sessionId = this.#cookies.readSession(header);
    // A cached answer may be older than the sign-in that the user has just completed.
    const session = sessionId ? await this.#checks.findNow(sessionId) : undefined;
    const signIn = this.#cookies.readSignIn(header);
    const own = session && (await readOwnSignIn(this.#options.client, session.userId, signIn));
    const { maxAgeSeconds = FRESH_SECONDS, assurance }: Exclude<FreshSignIn, number> =
      typeof needed === 'number' ? { maxAgeSeconds: needed } : needed;
    const isFresh = own !== undefined && Date.now() / 1_000 - own.at <= maxAgeSeconds;
    if (isFresh && own.assurance >= (assurance ? LEVELS[assurance] : 1)) return undefined;
    const demands = { maxAgeSeconds, ...(assurance && { requiredAssurance: assurance }) };
    return this.startLogin(header, { ...demands, prompt: 'LOGIN', returnTo });
  }

  /** @throws ConnectError */
  async startLogin(header: string | undefined, options: BrowserLoginOptions = {}): Promise<BrowserReply> {
    return this.#start(header, createLoginState(), options);
  }

  /**
   * Signs the browser in. Uses only the query of `url`, the requested URL. If this browser did not start the login, or has
   * already finished it (the user pressed Back), a signed-in user goes to the home path. For anyone else a new login
   * starts, once. If the auth token has expired, both return to the page that the user asked for.
   *
   * @throws ConnectError, or LoginError except for a login that the user canceled
   */
  async finishLogin(header: string | undefined, url: string): Promise<BrowserReply> {
    const { client, redirectUri, issuer } = this.#options;
    const callback = new URL(url, redirectUri);
    const given = callback.searchParams.get('state') ?? '';
    const login = this.#cookies.readLogin(header, given);
    const cookies = login ? [this.#cookies.removeLogin(given)] : [];
    try {
      const { session, user } = await finishLogin(client, { callback, state: login && given, issuer });
      if (session) {
        const earlier = this.#cookies.readSession(header);
        if (earlier !== session.id) this.#checks.markLeft(earlier);
        cookies.push(this.#cookies.writeSession(session.id));
        const authToken = callback.searchParams.get('authToken');
        const signIn = await toOwnSignIn(client, user?.id ?? '', authToken, session.assurance);
        if (signIn) cookies.push(this.#cookies.writeSignIn(signIn));
      }
    } catch (error) {
      const reason = error instanceof LoginError ? error.reason : reasonOf(error);
      if (reason === 'state_mismatch' || reason === 'INVALID_TOKEN')
        return this.#startAnew(header, given, { returnTo: login?.returnTo, cookies }, error);
      if (reason !== 'canceled') throw error;
    }
    return { location: this.#toLocation(login?.returnTo), cookies };
  }

  /**
   * Ends the session in all browsers of the user. If Usher is unavailable, only removes the cookie of this browser.
   *
   * @throws ConnectError for any other failure
   */
  async signOut(header: string | undefined): Promise<BrowserReply> {
    const sessionId = this.#cookies.readSession(header);
    this.#checks.markLeft(sessionId);
    const revoke = () => this.#checks.call((sessions, options) => sessions.revokeSession({ sessionId }, options));
    if (sessionId) await revoke().catch(ignoreUnavailable);
    // An answer may have come meanwhile.
    this.#checks.markLeft(sessionId);
    return { location: this.#toLocation(undefined), cookies: this.#cookies.removeAll(header) };
  }

  async #start(
    header: string | undefined,
    state: string,
    { returnTo, ...loginOptions }: BrowserLoginOptions,
  ): Promise<BrowserReply> {
    const { client, clientId, redirectUri } = this.#options;
    const { authUrl } = await startLogin(client, { ...loginOptions, clientId, redirectUri, state });
    return { location: authUrl, cookies: this.#cookies.writeLogin(header, state, returnTo) };
  }

  /**
   * Restarts a login once only: a browser that keeps no cookies would otherwise loop.
   *
   * @param failed the page that the user asked for, and the `Set-Cookie` that removes the login that failed
   * @throws LoginError or ConnectError the second time
   */
  async #startAnew(
    header: string | undefined,
    state: string,
    failed: { readonly returnTo: string | undefined; readonly cookies: readonly string[] },
    error: unknown,
  ): Promise<BrowserReply> {
    const { session, cookies } = await this.check(header);
    if (session) return { location: this.#toLocation(failed.returnTo), cookies: [...failed.cookies, ...cookies] };
    if (state.startsWith(RESTARTED)) throw error;
    const started = await this.#start(header, RESTARTED + createLoginState(), { returnTo: failed.returnTo });
    return { ...started, cookies: [...failed.cookies, ...started.cookies] };
  }

  /** Returns a path of this site, so that a `returnTo` of another site cannot redirect the user there. */
  #toLocation(returnTo: string | undefined): string {
    const { homePath = '/', redirectUri } = this.#options;
    return toOwnPath(returnTo ?? '', new URL(redirectUri).origin) ?? homePath;
  }

  /** Renews a session that has expired. */
  async #revive(sessionId: string, start: number): ReturnType<BrowserSessions['check']> {
    try {
      const { session: renewed } = await this.#callRenew(sessionId);
      const session = renewed && (await this.#checks.find(renewed.id));
      if (session) return { session, cookies: this.#toCookies(sessionId, renewed.id, start) };
    } catch (error) {
      if (reasonOf(error) !== 'SESSION_EXPIRED') throw error;
      this.#checks.markEnded(sessionId);
    }
    return NOBODY;
  }

  /** Sets no cookie for a browser that has signed in or out since `start`: it has a newer one. */
  #toCookies(sessionId: string, renewedId: string, start: number): string[] {
    const isDue = renewedId !== sessionId && !this.#checks.wasLeftSince(sessionId, start);
    return isDue ? [this.#cookies.writeSession(renewedId)] : [];
  }

  /** Ignores failures: the session is still live, and the next request tries again. */
  async #renew(sessionId: string): Promise<string> {
    return this.#callRenew(sessionId).then(
      ({ session }) => session?.id ?? sessionId,
      () => sessionId,
    );
  }

  #callRenew(sessionId: string) {
    return this.#checks.call((sessions, options) => sessions.renewSession({ sessionId }, options));
  }
}

function isHalfOver({ createdAt, expiresAt }: ActiveSession): boolean {
  const [created, expires] = [Number(createdAt?.seconds), Number(expiresAt?.seconds)];
  return Date.now() / 1000 > (created + expires) / 2;
}

/** As long as a login intent can be completed. */
const LOGIN_SECONDS = 30 * 60;
/** How many logins one browser may have open in its tabs. */
const MAX_LOGINS = 4;
/** Users return to the home path instead of a longer path. Browsers limit a cookie to 4 KB, servers limit all headers. */
const MAX_PATH_LENGTH = 512;

/** A login that the browser has started. */
interface OpenLogin {
  /** The path that the user returns to after the login. Undefined for the home path. */
  readonly returnTo: string | undefined;
}

/** The cookies of a browser: for its session, for its last sign-in, and for each login that it has started. */
class SessionCookies {
  readonly #prefix: string;
  readonly #attributes: string;
  readonly #idleSeconds: number | undefined;

  constructor({ isSecure, idleSeconds }: { readonly isSecure: boolean; readonly idleSeconds: number | undefined }) {
    this.#prefix = `${isSecure ? '__Host-' : ''}usher_`;
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    this.#idleSeconds = idleSeconds;
  }

  /** Returns the session ID, or an empty string without one. */
  readSession(header: string | undefined): string {
    return this.#find(header, 'session')?.value ?? '';
  }

  /** Returns the `Set-Cookie` that stores the session ID, or that removes the cookie if the ID is empty. */
  writeSession(sessionId: string): string {
    const lifetime = sessionId ? this.#idleSeconds : 0;
    return this.#write('session', sessionId, lifetime);
  }

  /** Returns the value that `toOwnSignIn` returned, or an empty string without one. */
  readSignIn(header: string | undefined): string {
    return this.#find(header, 'signed_in')?.value ?? '';
  }

  /** Returns the `Set-Cookie` that stores the value, or that removes the cookie if the value is empty. */
  writeSignIn(value: string): string {
    return this.#write('signed_in', value, value ? this.#idleSeconds : 0);
  }

  /** Returns the `Set-Cookie` that remove the session, and the sign-in if there is one. */
  removeAll(header: string | undefined): string[] {
    const signIn = this.readSignIn(header) ? [this.writeSignIn('')] : [];
    return [this.writeSession(''), ...signIn];
  }

  /** Returns the login with this state, or undefined if this browser did not start it. */
  readLogin(header: string | undefined, state: string): OpenLogin | undefined {
    const login = this.#find(header, `login_${state}`);
    return login && { returnTo: login.value ? decodePath(login.value) : undefined };
  }

  /**
   * Each login has a cookie of its own, so that a late reply does not overwrite the login of another tab. Removes the
   * oldest logins beyond the limit: browsers send the oldest cookies first.
   */
  writeLogin(header: string | undefined, state: string, returnTo: string | undefined): string[] {
    const open = this.#readAll(header).filter(({ name }) => name.startsWith(`${this.#prefix}login_`));
    const oldest = open.slice(0, Math.max(0, open.length - MAX_LOGINS + 1));
    // Base64url has no character that ends the value of a cookie, as a semicolon does.
    const path = returnTo && returnTo.length <= MAX_PATH_LENGTH ? toBase64url(new TextEncoder().encode(returnTo)) : '';
    return [
      ...oldest.map(({ name }) => this.#write(name.slice(this.#prefix.length), '', 0)),
      this.#write(`login_${state}`, path, LOGIN_SECONDS),
    ];
  }

  removeLogin(state: string): string {
    return this.#write(`login_${state}`, '', 0);
  }

  /** Parses by hand: the package `cookie` needs Node 22, and applications may run Node 20. */
  #readAll(header = ''): { name: string; value: string }[] {
    return header.split(/; */).map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return { name, value: value.join('=') };
    });
  }

  #find(header: string | undefined, name: string) {
    return this.#readAll(header).find((cookie) => cookie.name === this.#prefix + name);
  }

  /** Without `seconds`, the cookie ends when the browser closes. */
  #write(name: string, value: string, seconds: number | undefined): string {
    const lifetime = seconds === undefined ? '' : `; Max-Age=${seconds}`;
    return `${this.#prefix}${name}=${value}; ${this.#attributes}${lifetime}`;
  }
}

function decodePath(value: string): string | undefined {
  try {
    const binary = atob(value.replace(/[-_]/g, (sign) => (sign === '-' ? '+' : '/')));
    return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
