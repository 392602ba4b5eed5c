/** Sessions for Hono, on every runtime of Hono. */
import type { Context, Handler, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import {
  type BrowserReply,
  type BrowserSessionOptions,
  BrowserSessions,
  type SessionHandlers,
} from './browser-sessions.ts';
import { LoginError } from './login.ts';

/** With `new Hono<UsherEnv>()`, `c.get('usherSession')` has the type of what `checkSession` sets. */
export interface UsherEnv {
  Variables: { usherSession: ActiveSession | undefined };
}

/** Creates the handlers of an application. Errors go to `app.onError`. */
export function createHonoSessions(
  options: BrowserSessionOptions,
): SessionHandlers<Handler, MiddlewareHandler<UsherEnv>> {
  const sessions = new BrowserSessions(options);
  return {
    checkSession: async (c, next) => {
      const { session, cookies } = await sessions.check(c.req.header('cookie'));
      c.set('usherSession', session);
      setCookies(c, cookies);
      await next();
    },
    requireFreshSignIn: (maxAgeSeconds) => async (c, next) => {
      const reply = await sessions.requireFreshSignIn(c.req.header('cookie'), maxAgeSeconds);
      if (reply) return redirect(c, reply);
      return next();
    },
    startLogin: async (c) => redirect(c, await sessions.startLogin(c.req.header('cookie'))),
    finishLogin: async (c) => {
      const reply = await sessions.finishLogin(c.req.header('cookie'), c.req.url).catch((error) => {
        throw error instanceof LoginError ? new HTTPException(400, { message: error.message, cause: error }) : error;
      });
      return redirect(c, reply);
    },
    signOut: async (c) => redirect(c, await sessions.signOut(c.req.header('cookie'))),
  };
}

function redirect(c: Context, { location, cookies }: BrowserReply): Response {
  setCookies(c, cookies);
  c.header('cache-control', 'no-store');
  return c.redirect(location, 303);
}

function setCookies(c: Context, cookies: readonly string[]): void {
  for (const cookie of cookies) c.header('set-cookie', cookie, { append: true });
}
