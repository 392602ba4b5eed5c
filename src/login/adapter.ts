/** The login page over HTTP: takes forms to verbs, and what the verbs say to pages and redirects. */
import type { Logger } from 'pino';
import { ServiceError } from '../core/errors.ts';
import { DatabaseUnavailableError, type Deadline } from '../db/database.ts';
import { durationMsSince } from '../log.ts';
import { type HttpAdapter, type HttpExchange, headerOf } from '../net/exchange.ts';
import { HttpError, readBody } from '../net/read-body.ts';
import { ACTIONS, type Action, answerProblem, type Fields, type LoginParts, type Visit } from './actions.ts';
import { isOwnForm, type KnownBrowser, recogniseBrowser } from './browser-cookie.ts';
import type { LoginMethod } from './method.ts';
import { refuse, sendDeadEnd } from './replies.ts';

const MAX_FORM_BYTES = 8_192;

/** More visits are not let in at a time: applications' calls wait for the same connections to Postgres. */
const MAX_VISITS = 100;

export function createLoginAdapter(parts: LoginParts): HttpAdapter {
  const visits = { underWay: 0 };
  const isSecure = parts.pageUrl.startsWith('https:');
  return async (exchange) => {
    if (exchange.path !== '/login' && !exchange.path.startsWith('/login/')) return false;
    // RFC 6797: from now on the browser comes here over https only.
    if (isSecure) exchange.response.setHeader('strict-transport-security', 'max-age=31536000');
    const action = findAction(exchange, parts.methods);
    if (action) {
      logWhenDone(parts.logger, exchange);
      await serve(action, exchange, recogniseBrowser(exchange, isSecure), parts, visits);
    } else {
      sendDeadEnd(exchange, 'not-found');
    }
    return true;
  };
}

function findAction({ request, path }: HttpExchange, methods: readonly LoginMethod[]): Action | undefined {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  return ACTIONS.find(
    (action) => action.path === path && action.method === method && (!action.needs || methods.includes(action.needs)),
  );
}

async function serve(
  action: Action,
  exchange: HttpExchange,
  browser: KnownBrowser,
  parts: LoginParts,
  visits: { underWay: number },
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
    if (visits.underWay >= MAX_VISITS) {
      refuse(action.form, exchange, 'unavailable');
      return;
    }
    visits.underWay++;
    await run(action, { exchange, call, browser, fields, parts }).finally(() => visits.underWay--);
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

async function run(action: Action, visit: Visit): Promise<void> {
  try {
    await action.run(visit);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    await answerProblem(visit, action.form, error);
  }
}

/** The fields of the form, or of the query of a page; what is missing is an empty text. */
async function readForm(action: Action, { request, query }: HttpExchange, deadline: Deadline): Promise<Fields> {
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
function logWhenDone(logger: Logger, { request, response, path, requestId, receivedAt }: HttpExchange): void {
  response.once('close', () => {
    const durationMs = durationMsSince(receivedAt);
    logger.info(
      { requestId, protocol: 'login', method: `${request.method} ${path}`, status: response.statusCode, durationMs },
      'call',
    );
  });
}
