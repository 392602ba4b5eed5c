/** Types and options that the integrations of all frameworks share. */
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
  /**
   * 500 to 5000. Answers are kept in memory, and no request that begins more than so many milliseconds after a revocation
   * was answered is served for the revoked session, whatever fails. Replaces `maxStalenessMs`.
   */
  readonly boundMs?: number;
  /** How many milliseconds a call about a session waits for Usher. Default: 2000. */
  readonly timeoutMs?: number;
  /**
   * The `session_idle_seconds` of the application. The cookie lives this long, so that users stay signed in after they
   * close the browser. Default: the cookie ends when the browser closes.
   */
  readonly idleSeconds?: number;
  /** Where users go after they sign out, or sign in without having asked for a page. Default: `/`. */
  readonly homePath?: string;
}

/** Options of a login, and the path on this site to return to. */
export interface BrowserLoginOptions extends Omit<StartLoginOptions, 'clientId' | 'redirectUri' | 'state'> {
  readonly returnTo?: string | undefined;
}

/** What the last sign-in in this browser must be: its maximum age in seconds, or more. */
export type FreshSignIn =
  | number
  | {
      /** Default: 900. */
      readonly maxAgeSeconds?: number;
      /** `TWO_FACTORS`, or `PHISHING_RESISTANT`: a passkey that checks fingerprint, face or PIN. */
      readonly assurance?: 'TWO_FACTORS' | 'PHISHING_RESISTANT';
    };

/** Middleware, and a handler for each route of the login. */
export interface SessionHandlers<Handler, Middleware = Handler> {
  /** Sets `usherSession`, and renews the session. */
  readonly checkSession: Middleware;
  /** Like `checkSession`. Sends users who are not signed in to Usher, and then back to the page they asked for. */
  readonly requireSignIn: Middleware;
  /** Returns middleware. It sends users to Usher unless their last sign-in in this browser is what the call needs. */
  readonly requireFreshSignIn: (needed: FreshSignIn) => Middleware;
  /** Sends the browser to Usher to sign in, and then to the path in the parameter `returnTo`. */
  readonly startLogin: Handler;
  /** The handler of the redirect URI. */
  readonly finishLogin: Handler;
  /** Handles a POST, so that a link cannot sign users out. */
  readonly signOut: Handler;
}

export interface BrowserReply {
  /** Values of `Set-Cookie`. */
  readonly cookies: readonly string[];
  readonly location: string;
}

/** Returns the query parameter `returnTo`. The URL may be relative, as in Node. */
export function readReturnTo(url: string): string | undefined {
  return new URLSearchParams(url.split('?').slice(1).join('?')).get('returnTo') ?? undefined;
}
