/** The login page over HTTP: takes forms to verbs, and what the verbs say to pages and redirects. */
import type { Logger } from 'pino';
import type { LoginMethod } from '../config/login-methods.ts';
import { DatabaseUnavailableError, type Deadline } from '../database/database.ts';
import { ServiceError } from '../domain/errors.ts';
import { type HttpAdapter, type HttpContext, headerOf } from '../http/http-context.ts';
import { HttpError, readBody } from '../http/read-body.ts';
import { durationMsSince } from '../log.ts';
import { ACTIONS, type Action, answerProblem, type Fields, type LoginParts, type LoginRequest } from './actions.ts';
import { identifyBrowser, isOwnForm, type KnownBrowser } from './browser-cookie.ts';
import { refuse, sendErrorPage } from './responses.ts';

const MAX_FORM_BYTES = 8_192;

/** More visits are not let in at a time: applications' calls wait for the same connections to Postgres. */
const MAX_LOGIN_REQUESTS = 100;

export function createLoginAdapter(parts: LoginParts): HttpAdapter {
  const visits = { inFlight: 0 };
  const isSecure = parts.pageUrl.startsWith('https:');
  return async (exchange) => {
    if (exchange.path !== '/login' && !exchange.path.startsWith('/login/')) return false;
    // RFC 6797: from now on the browser comes here over https only.
    if (isSecure) exchange.response.setHeader('strict-transport-security', 'max-age=31536000');
    const action = findAction(exchange, parts.methods);
    if (action) {
      logWhenDone(parts.logger, exchange);
      await serve(action, exchange, identifyBrowser(exchange, isSecure), parts, visits);
    } else {
      sendErrorPage(exchange, 'not-found');
    }
    return true;
  };
}

function findAction({ request, path }: HttpContext, methods: readonly LoginMethod[]): Action | undefined {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  return ACTIONS.find(
    (action) => action.path === path && action.method === method && (!action.needs || methods.includes(action.needs)),
  );
}

async function serve(
  action: Action,
  exchange: HttpContext,
  browser: KnownBrowser,
  parts: LoginParts,
  visits: { inFlight: number },
): Promise<void> {
  const deadline = exchange.receivedAt + parts.requestTimeoutMs;
  try {
    const fields = await readForm(action, exchange, deadline);
    if (action.method === 'POST' && !isOwnForm(browser, fields.token)) {
      refuse(action.form, exchange, browser.isNew ? 'no-cookie' : 'stale-form');
      return;
    }
    const call = { run: parts.database.within(deadline), now: parts.clock() };
    // Who is still sending the form takes nobody's place.
    if (visits.inFlight >= MAX_LOGIN_REQUESTS) {
      refuse(action.form, exchange, 'unavailable');
      return;
    }
    visits.inFlight++;
    await run(action, { exchange, call, browser, fields, parts }).finally(() => visits.inFlight--);
  } catch (error) {
    if (error instanceof HttpError) {
      refuse(action.form, exchange, 'bad-request', error.status);
    } else if (error instanceof DatabaseUnavailableError) {
      parts.logger.warn({ err: error, requestId: exchange.requestId }, 'database unavailable');
      refuse(action.form, exchange, 'unavailable');
    } else {
      parts.logger.error({ err: error, requestId: exchange.requestId }, 'unexpected error');
      refuse(action.form, exchange, 'unavailable', 500);
    }
  }
}

async function run(action: Action, visit: LoginRequest): Promise<void> {
  try {
    await action.run(visit);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    await answerProblem(visit, action.form, error);
  }
}

/** The fields of the form, or of the query of a page; what is missing is an empty text. */
async function readForm(action: Action, { request, query }: HttpContext, deadline: Deadline): Promise<Fields> {
  let text = query;
  if (action.method === 'POST') {
    const contentType = headerOf(request, 'content-type') ?? '';
    if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)) {
      throw new HttpError(415, 'Unsupported media type');
    }
    text = (await readBody(request, MAX_FORM_BYTES, deadline)).toString('utf8');
  }
  const form = new URLSearchParams(text);
  const field = (name: string) => form.get(name) ?? '';
  return {
    loginIntentId: field('intent'),
    token: field('token'),
    email: field('email').trim(),
    code: field('code'),
    address: field('address'),
    signature: field('signature'),
    problem: field('problem'),
  };
}

/** A line per request; it names no field of the form. */
function logWhenDone(logger: Logger, { request, response, path, requestId, receivedAt }: HttpContext): void {
  response.once('close', () => {
    const durationMs = durationMsSince(receivedAt);
    logger.info(
      { requestId, protocol: 'login', method: `${request.method} ${path}`, status: response.statusCode, durationMs },
      'call',
    );
  });
}
