/** Sessions of browsers, for any framework: reads the cookies, and returns the cookies to set. */
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import { reasonOf } from './errors.ts';
import { createLoginState, finishLogin, LoginError, startLogin } from './login.ts';
import { ignoreAbsence, SessionChecks } from './session-checks.ts';
import { SessionCookies } from './session-cookies.ts';
import type { BrowserLoginOptions, BrowserReply, BrowserSessionOptions } from './session-handlers.ts';

const DEFAULT_TIMEOUT_MS = 2_000;
/** Begins the state of a login that was started anew. No state of `createLoginState` has it. */
const RESTARTED = '~';

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
   * Checks the session that the `Cookie` header names. Renews it in the second half of its life, and once it has expired
   * if the application allows that. The cookie of a session that has ended stays: a newer login may have replaced it
   * before this reply arrives.
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
   * Returns where to send the browser if its user signed in more than `maxAgeSeconds` ago.
   *
   * @throws ConnectError
   */
  async requireFreshSignIn(
    header: string | undefined,
    maxAgeSeconds: number,
    returnTo?: string,
  ): Promise<BrowserReply | undefined> {
    const sessionId = this.#cookies.readSession(header);
    // A reply that is seconds old may not know the sign-in that the user comes back from.
    const session = sessionId ? await this.#checks.findNow(sessionId) : undefined;
    const isFresh = session && Date.now() / 1_000 - Number(session.authTime?.seconds ?? 0) <= maxAgeSeconds;
    return isFresh ? undefined : this.startLogin(header, { maxAgeSeconds, returnTo });
  }

  /** @throws ConnectError */
  async startLogin(header: string | undefined, options: BrowserLoginOptions = {}): Promise<BrowserReply> {
    return this.#start(header, createLoginState(), options);
  }

  /**
   * Signs the browser in. Only the query of `url`, the requested URL, is used. A login that this browser has not started,
   * or has finished already, ends at home if the user is signed in, and starts anew otherwise, once: so does a press of
   * Back.
   *
   * @throws LoginError unless the user canceled, or ConnectError
   */
  async finishLogin(header: string | undefined, url: string): Promise<BrowserReply> {
    const { client, redirectUri, issuer } = this.#options;
    const callback = new URL(url, redirectUri);
    const given = callback.searchParams.get('state') ?? '';
    const login = this.#cookies.readLogin(header, given);
    const cookies = login ? [this.#cookies.removeLogin(given)] : [];
    try {
      const { session } = await finishLogin(client, { callback, state: login && given, issuer });
      if (session) {
        const earlier = this.#cookies.readSession(header);
        if (earlier !== session.id) this.#checks.leave(earlier);
        cookies.push(this.#cookies.writeSession(session.id));
      }
    } catch (error) {
      const reason = error instanceof LoginError ? error.reason : reasonOf(error);
      if (reason === 'state_mismatch' || reason === 'INVALID_TOKEN') return this.#startAnew(header, given, error);
      if (reason !== 'canceled') throw error;
    }
    return { location: this.#toLocation(login?.returnTo), cookies };
  }

  /** Ends the session, in all browsers of the user. While Usher is away, only in this one. @throws ConnectError */
  async signOut(header: string | undefined): Promise<BrowserReply> {
    const sessionId = this.#cookies.readSession(header);
    this.#checks.leave(sessionId);
    const revoke = () => this.#checks.call((sessions, options) => sessions.revokeSession({ sessionId }, options));
    if (sessionId) await revoke().catch(ignoreAbsence);
    return { location: this.#toLocation(undefined), cookies: [this.#cookies.writeSession('')] };
  }

  async #start(
    header: string | undefined,
    state: string,
    { returnTo, ...wishes }: BrowserLoginOptions,
  ): Promise<BrowserReply> {
    const { client, clientId, redirectUri } = this.#options;
    const { authUrl } = await startLogin(client, { ...wishes, clientId, redirectUri, state });
    return { location: authUrl, cookies: this.#cookies.writeLogin(header, state, returnTo) };
  }

  /** A browser that keeps no cookies would come back here for ever. @throws LoginError or ConnectError the second time */
  async #startAnew(header: string | undefined, state: string, error: unknown): Promise<BrowserReply> {
    const { session, cookies } = await this.check(header);
    if (session) return { location: this.#toLocation(undefined), cookies };
    if (state.startsWith(RESTARTED)) throw error;
    return this.#start(header, RESTARTED + createLoginState(), {});
  }

  /** Returns a path of this site, whatever the browser asked for. */
  #toLocation(returnTo: string | undefined): string {
    const { homePath = '/', redirectUri } = this.#options;
    const { origin } = new URL(redirectUri);
    if (!returnTo?.startsWith('/') || !URL.canParse(returnTo, origin)) return homePath;
    const url = new URL(returnTo, origin);
    return url.origin === origin ? url.pathname + url.search : homePath;
  }

  /** Renews a session that is not live any more. */
  async #revive(sessionId: string, start: number): ReturnType<BrowserSessions['check']> {
    try {
      const { session: renewed } = await this.#callRenew(sessionId);
      const session = renewed && (await this.#checks.find(renewed.id));
      if (session) return { session, cookies: this.#toCookies(sessionId, renewed.id, start) };
    } catch (error) {
      if (reasonOf(error) !== 'SESSION_EXPIRED') throw error;
      this.#checks.keepEnd(sessionId);
    }
    return NOBODY;
  }

  /** A browser that has signed in or out meanwhile keeps the cookie that it got then. */
  #toCookies(sessionId: string, renewedId: string, start: number): string[] {
    const isNews = renewedId !== sessionId && !this.#checks.isLeftSince(sessionId, start);
    return isNews ? [this.#cookies.writeSession(renewedId)] : [];
  }

  /** Ignores failures: the session is live, and the next request tries again. */
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
