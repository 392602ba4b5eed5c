/** Sessions of browsers, for any framework: reads the cookies, and returns the cookies to set. */
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import { reasonOf } from './errors.ts';
import { createLoginState, finishLogin, LoginError, startLogin } from './login.ts';
import { toOwnPath } from './own-path.ts';
import { readOwnSignIn, toOwnSignIn } from './own-sign-in.ts';
import { ignoreUnavailable, SessionChecks } from './session-checks.ts';
import { SessionCookies } from './session-cookies.ts';
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
    const { client, idleSeconds, maxStalenessMs, redirectUri, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    this.#cookies = new SessionCookies({ isSecure: new URL(redirectUri).protocol === 'https:', idleSeconds });
    this.#checks = new SessionChecks({ client, maxStalenessMs, timeoutMs });
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
