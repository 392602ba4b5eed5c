/** What the sessions of every framework have in common. */
import type { StartLoginOptions } from './login.ts';
import type { UsherClient } from './usher-client.ts';

export interface BrowserSessionOptions {
  readonly client: UsherClient;
  readonly clientId: string;
  /** A registered redirect URI of the application: the URL of its `finishLogin`. */
  readonly redirectUri: string;
  /** The `PUBLIC_URL` of Usher. Default: the `baseUrl` of the client. */
  readonly issuer?: string;
  /** How many milliseconds a revoked session may still count as live, 0 to 5000. Default: 5000. */
  readonly maxStalenessMs?: number;
  /** How long Usher has to answer a check. Default: 2 seconds. */
  readonly timeoutMs?: number;
  /**
   * The `session_idle_seconds` of the application: the cookie lives as long, so that users stay signed in when they
   * close the browser. Default: the cookie ends with the browser.
   */
  readonly idleSeconds?: number;
  /** Where users go after they sign out, or sign in without having asked for a page. Default: `/`. */
  readonly homePath?: string;
}

/** What a login may ask for, and the path on this site to come back to. */
export interface BrowserLoginOptions extends Omit<StartLoginOptions, 'clientId' | 'redirectUri' | 'state'> {
  readonly returnTo?: string | undefined;
}

/** Middleware, and a handler for each route of the login. */
export interface SessionHandlers<Handler, Middleware = Handler> {
  /** Sets `usherSession`, and renews the session. */
  readonly checkSession: Middleware;
  /** Like `checkSession`. Sends users who are not signed in to Usher, and then back to the page they asked for. */
  readonly requireSignIn: Middleware;
  /** Returns middleware that sends users to Usher who signed in more than `maxAgeSeconds` ago. */
  readonly requireFreshSignIn: (maxAgeSeconds: number) => Middleware;
  /** Sends the browser to Usher to sign in, and then to the path in the parameter `returnTo`. */
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

/** Returns the parameter `returnTo` of a request to start a login. */
export function readReturnTo(url: string): string | undefined {
  return new URLSearchParams(url.split('?').slice(1).join('?')).get('returnTo') ?? undefined;
}
