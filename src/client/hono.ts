/** Sessions for Hono, on every runtime of Hono. */
import type { Context, Handler, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import { BrowserSessions } from './browser-sessions.ts';
import {
  type BrowserReply,
  type BrowserSessionOptions,
  readReturnTo,
  type SessionHandlers,
} from './session-handlers.ts';

/** The type for `new Hono<UsherEnv>()`, with the variable that `checkSession` sets. */
export interface UsherEnv {
  Variables: { usherSession: ActiveSession | undefined };
}

/** Creates the handlers of an application. Errors go to `app.onError`. */
export function createHonoSessions(
  options: BrowserSessionOptions,
): SessionHandlers<Handler, MiddlewareHandler<UsherEnv>> {
  const sessions = new BrowserSessions(options);
  const check =
    ({ isRequired }: { isRequired: boolean }): MiddlewareHandler<UsherEnv> =>
    async (c, next) => {
      const cookie = c.req.header('cookie');
      const { session, cookies } = await sessions.check(cookie).catch(throwWithStatus);
      if (isRequired && !session)
        return redirect(c, await sessions.startLogin(cookie, { returnTo: pageOf(c) }).catch(throwWithStatus));
      c.set('usherSession', session);
      setCookies(c, cookies);
      return next();
    };
  return {
    checkSession: check({ isRequired: false }),
    requireSignIn: check({ isRequired: true }),
    requireFreshSignIn: (needed) => async (c, next) => {
      const cookie = c.req.header('cookie');
      const reply = await sessions.requireFreshSignIn(cookie, needed, pageOf(c)).catch(throwWithStatus);
      return reply ? redirect(c, reply) : next();
    },
    startLogin: async (c) => {
      const returnTo = readReturnTo(c.req.url);
      return redirect(c, await sessions.startLogin(c.req.header('cookie'), { returnTo }).catch(throwWithStatus));
    },
    finishLogin: async (c) =>
      redirect(c, await sessions.finishLogin(c.req.header('cookie'), c.req.url).catch(throwWithStatus)),
    signOut: async (c) => redirect(c, await sessions.signOut(c.req.header('cookie')).catch(throwWithStatus)),
  };
}

/** Wraps the error, because Hono answers with the status of an HTTPException only. */
function throwWithStatus(error: unknown): never {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (status !== 400 && status !== 503) throw error;
  throw new HTTPException(status, { message: (error as Error).message, cause: error });
}

/** Returns the path to return to after the sign-in. Undefined for a POST: a redirect cannot repeat it. */
function pageOf({ req }: Context): string | undefined {
  const { pathname, search } = new URL(req.url);
  return req.method === 'GET' ? pathname + search : undefined;
}

function redirect(c: Context, { location, cookies }: BrowserReply): Response {
  setCookies(c, cookies);
  c.header('cache-control', 'no-store');
  return c.redirect(location, 303);
}

function setCookies(c: Context, cookies: readonly string[]): void {
  for (const cookie of cookies) c.header('set-cookie', cookie, { append: true });
}
