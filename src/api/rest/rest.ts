/** The REST edge: finds the route, runs its RPC through the pipeline, and answers in the envelope. */

import { type ErrorCode, ServiceError } from '../../domain/core/errors.ts';
import { HttpError } from '../../http/errors.ts';
import { RETRY_SOON, sendJson } from '../../http/exchange.ts';
import type { HttpContext, PathHandler } from '../../http/http-context.ts';
import { type Envelope, sendFailure } from '../envelope.ts';
import type { Pipeline } from '../pipeline.ts';
import { type Procedure, type Procedures, pathOf } from '../procedures.ts';
import { createPresenter } from './present.ts';
import { readFields } from './read-fields.ts';
import type { PathParameters, Route } from './route.ts';
import { routes } from './routes.ts';

interface RestEndpoint {
  readonly route: Route;
  readonly procedure: Procedure;
  readonly present: ReturnType<typeof createPresenter>;
}

interface Pattern {
  readonly segments: readonly string[];
  /** By HTTP method. */
  readonly endpoints: ReadonlyMap<string, RestEndpoint>;
}

/** Answers every request below `/api`. Passes paths without a route to `download`. */
export function createRestHandler(procedures: Procedures, pipeline: Pipeline, download: PathHandler): PathHandler {
  const router = new Router(procedures);
  return async (context) => {
    const { path, request } = context;
    if (path !== '/api' && !path.startsWith('/api/')) return false;
    const found = router.find(path);
    if (!found) {
      if (!(await download(context))) sendFailure(context, 'NOT_FOUND');
      return true;
    }
    const { endpoints, parameters } = found;
    const { method = '' } = request;
    const endpoint = endpoints.get(method === 'HEAD' ? 'GET' : method);
    if (endpoint) {
      await serve(endpoint, parameters, context, pipeline);
    } else {
      const allowed = [...endpoints.keys(), ...(endpoints.has('GET') ? ['HEAD'] : [])];
      sendFailure(context, 'METHOD_NOT_ALLOWED', { allow: allowed.join(', ') });
    }
    return true;
  };
}

async function serve(
  { route, procedure, present }: RestEndpoint,
  parameters: PathParameters,
  context: HttpContext,
  pipeline: Pipeline,
): Promise<void> {
  const read = (deadline: number) => readFields(route, parameters, context, deadline);
  try {
    const response = await pipeline.runUnary(procedure, context, { protocol: 'rest', route }, read);
    const { message } = route;
    sendEnvelope(context, statusOf(route, response), { status: true, message, data: present(response) });
  } catch (error) {
    if (error instanceof HttpError) sendFailure(context, error.reason);
    else if (error instanceof ServiceError) sendServiceError(context, error);
    else throw error;
  }
}

const STATUSES: Record<ErrorCode, number> = {
  aborted: 409,
  canceled: 499,
  invalid_argument: 400,
  deadline_exceeded: 408,
  not_found: 404,
  already_exists: 409,
  resource_exhausted: 429,
  failed_precondition: 409,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
  permission_denied: 403,
};

/** IDs that name one request, and came with another. 422: draft-ietf-httpapi-idempotency-key-header, section 2.7. */
const REUSED_IDS: readonly string[] = ['IDEMPOTENCY_KEY_REUSED', 'SCAN_ID_REUSED'];

export function statusOfError(code: ErrorCode, reason: string): number {
  return REUSED_IDS.includes(reason) ? 422 : STATUSES[code];
}

export function sendServiceError(context: HttpContext, { code, message, reason, violations }: ServiceError): void {
  // REST callers cannot set a timeout, so the body came too late.
  if (code === 'deadline_exceeded') {
    sendFailure(context, 'REQUEST_TIMEOUT');
    return;
  }
  const envelope = { status: false, message, reason, ...(violations.length > 0 && { errors: violations }) };
  sendEnvelope(context, statusOfError(code, reason), envelope, code === 'unavailable' ? RETRY_SOON : {});
}

export function sendEnvelope(
  context: HttpContext,
  status: number,
  envelope: Envelope,
  headers: Record<string, string> = {},
): void {
  sendJson(context, status, JSON.stringify(envelope), headers);
}

function statusOf({ status, existedBefore }: Route, response: Readonly<Record<string, unknown>>): number {
  return existedBefore !== undefined && response[existedBefore] === true ? 200 : status;
}

/** Finds the endpoints of a path. A segment of a route that begins with a colon matches any one segment. */
class Router {
  /** By `keyOf` the path, so that `find` compares few patterns. */
  readonly #patterns: ReadonlyMap<string, readonly Pattern[]>;

  constructor(procedures: Procedures) {
    const endpoints = routes.flatMap((route): RestEndpoint[] => {
      const procedure = procedures.get(pathOf(route.rpc));
      return procedure ? [{ route, procedure, present: createPresenter(route) }] : [];
    });
    const patterns = [...Map.groupBy(endpoints, ({ route }) => route.path)].map(([path, ofPath]) => ({
      segments: path.split('/'),
      endpoints: new Map(ofPath.map((endpoint) => [endpoint.route.method, endpoint])),
    }));
    this.#patterns = Map.groupBy(patterns, ({ segments }) => keyOf(segments));
  }

  /** Returns undefined if no route has the path. */
  find(path: string): (Pick<Pattern, 'endpoints'> & { readonly parameters: PathParameters }) | undefined {
    const segments = path.split('/');
    for (const { segments: expected, endpoints } of this.#patterns.get(keyOf(segments)) ?? []) {
      const parameters = match(expected, segments);
      if (parameters) return { endpoints, parameters };
    }
    return undefined;
  }
}

/** Uses the first segment below `/api`, which is never a parameter. */
function keyOf(segments: readonly string[]): string {
  return `${segments.length} ${segments[2]}`;
}

function match(pattern: readonly string[], segments: readonly string[]): PathParameters | undefined {
  const parameters: Record<string, string> = {};
  let at = 0;
  for (const expected of pattern) {
    const segment = segments[at++] ?? '';
    if (expected.startsWith(':')) parameters[expected.slice(1)] = segment;
    else if (segment !== expected) return undefined;
  }
  return parameters;
}
