/** The REST edge: finds the route, runs its RPC through the pipeline, and answers in the envelope. */
import { type ErrorCode, ServiceError } from '../../domain/errors.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpContext, HttpHandler } from '../../http/http-context.ts';
import { sendEnvelope, sendFailure } from '../envelope.ts';
import type { Pipeline } from '../pipeline.ts';
import { type Procedure, type Procedures, pathOf } from '../procedures.ts';
import { readFields } from './read-fields.ts';
import { type Route, routes } from './routes.ts';

interface Endpoint {
  readonly route: Route;
  readonly procedure: Procedure;
}

/** Answers every request below `/api`. */
export function createRestHandler(procedures: Procedures, pipeline: Pipeline): HttpHandler {
  const endpoints = routes.map((route): Endpoint => ({ route, procedure: procedureOf(route, procedures) }));

  return (context) => {
    const allowed: string[] = [];
    for (const endpoint of endpoints) {
      const { route } = endpoint;
      const parameter = matchPath(route, context.path);
      if (parameter === undefined) continue;
      if (route.method === context.request.method) return serve(endpoint, parameter, context, pipeline);
      allowed.push(route.method);
    }
    if (allowed.length === 0) sendFailure(context, 'NOT_FOUND');
    else sendFailure(context, 'METHOD_NOT_ALLOWED', { allow: allowed.join(', ') });
  };
}

async function serve(
  { route, procedure }: Endpoint,
  parameter: string,
  context: HttpContext,
  pipeline: Pipeline,
): Promise<void> {
  const read = (deadline: number) => readFields(route, parameter, context, deadline);
  try {
    const response = await pipeline.runUnary(procedure, context, { protocol: 'rest' }, read);
    sendEnvelope(context, 200, { status: true, message: route.message, data: route.present(response) });
  } catch (error) {
    if (error instanceof HttpError) sendFailure(context, error.reason);
    else if (error instanceof ServiceError) sendServiceError(context, error);
    else throw error;
  }
}

const STATUSES: Record<ErrorCode, number> = {
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
};

function sendServiceError(context: HttpContext, { code, message, reason, violations }: ServiceError): void {
  // A REST caller sets no deadline: the one that passed is that of the body.
  if (code === 'deadline_exceeded') {
    sendFailure(context, 'REQUEST_TIMEOUT');
    return;
  }
  const envelope = { status: false, message, reason, ...(violations.length > 0 && { errors: violations }) };
  sendEnvelope(context, STATUSES[code], envelope, code === 'unavailable' ? { 'retry-after': '1' } : {});
}

/** Returns the last segment of the path if the route has a parameter, '' if it has none, undefined for another path. */
function matchPath(route: Route, path: string): string | undefined {
  const colon = route.path.indexOf(':');
  if (colon < 0) return path === route.path ? '' : undefined;
  if (!path.startsWith(route.path.slice(0, colon))) return undefined;
  const parameter = path.slice(colon);
  return parameter.includes('/') ? undefined : parameter;
}

function procedureOf({ rpc }: Route, procedures: Procedures): Procedure {
  const procedure = procedures.get(pathOf(rpc));
  if (!procedure) throw new Error(`No service implements ${rpc.name}`);
  return procedure;
}
