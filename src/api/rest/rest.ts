/** The REST edge: finds the route, runs its RPC through the pipeline, and answers in the envelope. */

import { ServiceError } from '../../domain/core/errors.ts';
import { HttpError } from '../../http/errors.ts';
import { sendJson } from '../../http/exchange.ts';
import type { HttpContext, PathHandler } from '../../http/http-context.ts';
import { type Envelope, sendError, sendFailure } from '../envelope.ts';
import type { Pipeline } from '../pipeline.ts';
import { type Procedure, type Procedures, requireProcedure } from '../procedures.ts';
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
    const envelope: Envelope = { status: true, message: route.message, data: present(response) };
    sendJson(context, statusOf(route, response), JSON.stringify(envelope));
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof HttpError)) throw error;
    sendError(context, error);
  }
}

function statusOf({ status, existedBefore }: Route, response: Readonly<Record<string, unknown>>): number {
  return existedBefore !== undefined && response[existedBefore] === true ? 200 : status;
}

/** Finds the endpoints of a path. A segment of a route that begins with a colon matches any one segment. */
class Router {
  /** By `keyOf` the path, so that `find` compares few patterns. */
  readonly #patterns: ReadonlyMap<string, readonly Pattern[]>;

  constructor(procedures: Procedures) {
    const endpoints = routes.map((route): RestEndpoint => {
      return { route, procedure: requireProcedure(procedures, route.rpc), present: createPresenter(route) };
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
