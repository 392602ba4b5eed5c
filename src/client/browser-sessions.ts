/** Sessions of browsers, for any framework: reads the cookies, and returns the cookies to set. */
import { ConnectError } from '@connectrpc/connect';
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import { finishLogin, LoginError, type StartLoginOptions, startLogin } from './login.ts';
import type { UsherClient } from './usher-client.ts';

/** The lifetime of a login intent. */
const LOGIN_COOKIE_SECONDS = 30 * 60;
/** How many logins one browser may have open in its tabs. */
const MAX_LOGINS = 4;

export interface BrowserSessionOptions {
  readonly client: UsherClient;
  readonly clientId: string;
  /** A registered redirect URI of the application: the URL of its `finishLogin`. */
  readonly redirectUri: string;
  /** The `PUBLIC_URL` of Usher. Default: the `baseUrl` of the client. */
  readonly issuer?: string;
  /** How many milliseconds a revoked session may still count as live, 0 to 5000. Default: 5000. */
  readonly maxStalenessMs?: number;
  /**
   * The `session_idle_seconds` of the application: the cookie lives as long, so that users stay signed in when they
   * close the browser. Default: the cookie ends with the browser.
   */
  readonly idleSeconds?: number;
  /** Where users go after they have signed in or out. Default: `/`. */
  readonly homePath?: string;
}

/** Middleware, and a handler for each route of the login. */
export interface SessionHandlers<Handler, Middleware = Handler> {
  /** Sets `usherSession`, and renews the session. */
  readonly checkSession: Middleware;
  /** Returns middleware that sends browsers to Usher whose users have signed in longer ago than that. */
  readonly requireFreshSignIn: (maxAgeSeconds: number) => Middleware;
  /** Sends the browser to Usher to sign in. */
  readonly startLogin: Handler;
  /** The handler of the redirect URI. */
  readonly finishLogin: Handler;
  /** The handler of a POST, so that no link can sign users out. */
  readonly signOut: Handler;
}

export interface BrowserReply {
  /** Values of `Set-Cookie`. */
  readonly cookies: readonly string[];
  readonly location: string;
}

/** Keeps the ID of the session in a cookie that scripts and other sites cannot read. */
export class BrowserSessions {
  readonly #options: BrowserSessionOptions;
  readonly #isSecure: boolean;

  constructor(options: BrowserSessionOptions) {
    this.#options = options;
    this.#isSecure = new URL(options.redirectUri).protocol === 'https:';
  }

  /**
   * Checks the session that the `Cookie` header names. Renews it in the second half of its life, and once it has expired
   * if the application allows that.
   *
   * @throws ConnectError if Usher cannot check it
   */
  async check(header: string | undefined): Promise<{ session: ActiveSession | undefined; cookies: readonly string[] }> {
    const sessionId = this.#read(header, 'session');
    if (!sessionId) return { session: undefined, cookies: [] };
    const session = await this.#find(sessionId);
    if (!session) return this.#revive(sessionId);
    const renewedId = isHalfOver(session) ? await this.#renew(sessionId) : sessionId;
    return { session, cookies: renewedId === sessionId ? [] : [this.#writeSession(renewedId)] };
  }

  /**
   * Returns where to send a browser whose user has signed in longer ago than that.
   *
   * @throws ConnectError
   */
  async requireFreshSignIn(header: string | undefined, maxAgeSeconds: number): Promise<BrowserReply | undefined> {
    const sessionId = this.#read(header, 'session');
    // A reply that is seconds old may not know the sign-in that the user comes back from.
    const session = sessionId ? await this.#find(sessionId, 0) : undefined;
    const isFresh = session && Date.now() / 1_000 - Number(session.authTime?.seconds ?? 0) <= maxAgeSeconds;
    return isFresh ? undefined : this.startLogin(header, { maxAgeSeconds });
  }

  /** @throws ConnectError */
  async startLogin(
    header: string | undefined,
    wishes: Omit<StartLoginOptions, 'clientId' | 'redirectUri'> = {},
  ): Promise<BrowserReply> {
    const { client, clientId, redirectUri } = this.#options;
    const { authUrl, state } = await startLogin(client, { ...wishes, clientId, redirectUri });
    const states = [...this.#readStates(header), state].slice(-MAX_LOGINS);
    return { location: authUrl, cookies: [this.#writeStates(states)] };
  }

  /**
   * Signs the browser in. Only the query of `url`, the requested URL, is used.
   *
   * @throws LoginError unless the user canceled, or ConnectError
   */
  async finishLogin(header: string | undefined, url: string): Promise<BrowserReply> {
    const { client, redirectUri, issuer, homePath = '/' } = this.#options;
    const callback = new URL(url, redirectUri);
    const states = this.#readStates(header);
    const state = states.find((open) => open === callback.searchParams.get('state'));
    const cookies = [this.#writeStates(states.filter((open) => open !== state))];
    try {
      const { session } = await finishLogin(client, { callback, state, issuer });
      if (session) cookies.push(this.#writeSession(session.id));
    } catch (error) {
      if (!(error instanceof LoginError && error.reason === 'canceled')) throw error;
    }
    return { location: homePath, cookies };
  }

  /** Ends the session, in all browsers of the user. @throws ConnectError */
  async signOut(header: string | undefined): Promise<BrowserReply> {
    const { client, homePath = '/' } = this.#options;
    const sessionId = this.#read(header, 'session');
    if (sessionId) await client.sessions.revokeSession({ sessionId });
    return { location: homePath, cookies: [this.#write('session', '')] };
  }

  async #find(sessionId: string, maxStalenessMs = this.#options.maxStalenessMs): Promise<ActiveSession | undefined> {
    const { client } = this.#options;
    const { session } = await client.sessions.checkSession({
      sessionId,
      ...(maxStalenessMs !== undefined && { maxStalenessMs }),
    });
    return session;
  }

  /** Renews a session that is not live any more. Signs the browser out if Usher refuses that. */
  async #revive(sessionId: string) {
    try {
      const { session: renewed } = await this.#options.client.sessions.renewSession({ sessionId });
      const session = renewed && (await this.#find(renewed.id));
      if (session) return { session, cookies: [this.#writeSession(renewed.id)] };
    } catch (error) {
      if (ConnectError.from(error).rawMessage !== 'Session expired') throw error;
    }
    return { session: undefined, cookies: [this.#write('session', '')] };
  }

  /** Ignores failures: the session is live, and the next request tries again. */
  async #renew(sessionId: string): Promise<string> {
    const { sessions } = this.#options.client;
    return sessions.renewSession({ sessionId }).then(
      ({ session }) => session?.id ?? sessionId,
      () => sessionId,
    );
  }

  #readStates(header: string | undefined): string[] {
    return this.#read(header, 'login').split('.').filter(Boolean);
  }

  #writeStates(states: readonly string[]): string {
    return this.#write('login', states.join('.'), `; Max-Age=${states.length > 0 ? LOGIN_COOKIE_SECONDS : 0}`);
  }

  #writeSession(sessionId: string): string {
    const { idleSeconds } = this.#options;
    return this.#write('session', sessionId, idleSeconds === undefined ? '' : `; Max-Age=${idleSeconds}`);
  }

  /**
   * Returns the value of the cookie, or nothing. The package `cookie` needs Node 22, and applications may run Node 20.
   */
  #read(header: string | undefined, name: string): string {
    const start = `${this.#nameOf(name)}=`;
    const pair = header?.split(/; */).find((candidate) => candidate.startsWith(start));
    return pair?.slice(start.length) ?? '';
  }

  /** Without a value, removes the cookie. Without a lifetime, the cookie ends with the browser. */
  #write(name: string, value: string, lifetime = value ? '' : '; Max-Age=0'): string {
    const attributes = `Path=/; HttpOnly; SameSite=Lax${this.#isSecure ? '; Secure' : ''}`;
    return `${this.#nameOf(name)}=${value}; ${attributes}${lifetime}`;
  }

  #nameOf(name: string): string {
    return `${this.#isSecure ? '__Host-' : ''}usher_${name}`;
  }
}

function isHalfOver({ createdAt, expiresAt }: ActiveSession): boolean {
  const [created, expires] = [Number(createdAt?.seconds), Number(expiresAt?.seconds)];
  return Date.now() / 1000 > (created + expires) / 2;
}
