/** Sessions for frameworks with the `Request` and `Response` of the web, such as Next.js, Remix and workers. */
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import { BrowserSessions } from './browser-sessions.ts';
import {
  type BrowserReply,
  type BrowserSessionOptions,
  readReturnTo,
  type SessionHandlers,
} from './session-handlers.ts';

type RouteHandler = (request: Request) => Promise<Response>;

/** A route handler for each step of the login, and a session check for all other routes. */
export interface WebSessions extends Pick<SessionHandlers<RouteHandler>, 'startLogin' | 'finishLogin' | 'signOut'> {
  /**
   * Returns the session of the signed-in user. Append `cookies` to the response as `Set-Cookie`: without them the next
   * request renews the session again.
   *
   * @throws ConnectError if Usher cannot check it
   */
  checkSession(request: {
    readonly headers: Pick<Headers, 'get'>;
  }): Promise<{ session: ActiveSession | undefined; cookies: readonly string[] }>;
}

/** Creates the handlers of an application. They answer with 400 and 503 themselves; other errors reject. */
export function createWebSessions(options: BrowserSessionOptions): WebSessions {
  const sessions = new BrowserSessions(options);
  const cookieOf = ({ headers }: { readonly headers: Pick<Headers, 'get'> }) => headers.get('cookie') ?? undefined;
  return {
    checkSession: (request) => sessions.check(cookieOf(request)),
    startLogin: (request) => respond(sessions.startLogin(cookieOf(request), { returnTo: readReturnTo(request.url) })),
    finishLogin: (request) => respond(sessions.finishLogin(cookieOf(request), request.url)),
    signOut: (request) => respond(sessions.signOut(cookieOf(request))),
  };
}

async function respond(reply: Promise<BrowserReply>): Promise<Response> {
  const headers = new Headers({ 'cache-control': 'no-store' });
  try {
    const { location, cookies } = await reply;
    headers.set('location', location);
    for (const cookie of cookies) headers.append('set-cookie', cookie);
    return new Response(null, { status: 303, headers });
  } catch (error) {
    const status = error instanceof Error && 'status' in error ? Number(error.status) : 0;
    if (!status) throw error;
    return new Response((error as Error).message, { status, headers });
  }
}
