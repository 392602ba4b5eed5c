/** Sessions for Express, and for other frameworks with the requests and responses of Node. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ActiveSession } from '../../gen/usher/v1/session_pb.ts';
import { BrowserSessions } from './browser-sessions.ts';
import {
  type BrowserReply,
  type BrowserSessionOptions,
  readReturnTo,
  type SessionHandlers,
} from './session-handlers.ts';

declare global {
  namespace Express {
    interface Request {
      /** The session of the signed-in user. `checkSession` sets it. */
      usherSession?: ActiveSession | undefined;
    }
  }
}

interface Request extends IncomingMessage {
  /** Set by Express: the URL with the path of the router, which Express removes from `url`. */
  readonly originalUrl?: string;
  usherSession?: ActiveSession | undefined;
}

type Handler = (request: Request, response: ServerResponse, next: (error?: unknown) => void) => void;

/** Creates the handlers of an application. Errors go to its error handler. */
export function createExpressSessions(options: BrowserSessionOptions): SessionHandlers<Handler> {
  const sessions = new BrowserSessions(options);
  const check = ({ isRequired }: { isRequired: boolean }) =>
    catchErrors(async (request, response, next) => {
      const { cookie } = request.headers;
      const { session, cookies } = await sessions.check(cookie);
      if (isRequired && !session)
        return redirect(response, await sessions.startLogin(cookie, { returnTo: pageOf(request) }));
      request.usherSession = session;
      setCookies(response, cookies);
      next();
    });
  return {
    checkSession: check({ isRequired: false }),
    requireSignIn: check({ isRequired: true }),
    requireFreshSignIn: (needed) =>
      catchErrors(async (request, response, next) => {
        const { cookie } = request.headers;
        const reply = await sessions.requireFreshSignIn(cookie, needed, pageOf(request));
        if (reply) redirect(response, reply);
        else next();
      }),
    startLogin: catchErrors(async (request, response) => {
      const returnTo = readReturnTo(request.url ?? '');
      redirect(response, await sessions.startLogin(request.headers.cookie, { returnTo }));
    }),
    finishLogin: catchErrors(async (request, response) => {
      redirect(response, await sessions.finishLogin(request.headers.cookie, request.url ?? ''));
    }),
    signOut: catchErrors(async (request, response) => {
      redirect(response, await sessions.signOut(request.headers.cookie));
    }),
  };
}

/** Express 4 does not handle rejected promises. */
function catchErrors(handle: (...parameters: Parameters<Handler>) => Promise<void>): Handler {
  return (request, response, next) => {
    handle(request, response, next).catch(next);
  };
}

/** Returns the path to return to after the sign-in. Undefined for a POST: a redirect cannot repeat it. */
function pageOf({ method, originalUrl, url }: Request): string | undefined {
  return method === 'GET' ? (originalUrl ?? url) : undefined;
}

function redirect(response: ServerResponse, { location, cookies }: BrowserReply): void {
  setCookies(response, cookies);
  response.writeHead(303, { location, 'cache-control': 'no-store' }).end();
}

function setCookies(response: ServerResponse, cookies: readonly string[]): void {
  for (const cookie of cookies) response.appendHeader('set-cookie', cookie);
}
