/**
 * The documented REST routes. A call goes the same course as over RPC, in process, and is answered in
 * the envelope.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { codeToHttpStatus } from '@connectrpc/connect/protocol-connect';
import type { Logger } from 'pino';
import type { HttpContext, HttpHandler } from '../../http/http-context.ts';
import { HttpError } from '../../http/read-body.ts';
import { type CallEnvironment, RpcCall } from '../call.ts';
import { logWhenDone } from '../call-log.ts';
import { violationsOf } from '../errors.ts';
import { type Procedure, pathOf } from '../procedures.ts';
import { runUnary } from '../run-unary.ts';
import { sendEnvelope, sendFailure } from './envelope.ts';
import { readFields } from './read-fields.ts';
import { type Route, routes } from './routes.ts';

interface Row {
  readonly route: Route;
  readonly procedure: Procedure;
}

export function createRestAdapter(
  procedures: ReadonlyMap<string, Procedure>,
  environment: CallEnvironment,
  logger: Logger,
): HttpHandler {
  const rows = routes.map((route): Row => ({ route, procedure: procedureFor(route, procedures) }));

  return (exchange) => {
    const allowed: string[] = [];
    for (const row of rows) {
      const parameter = parameterOf(row.route, exchange.path);
      if (parameter === undefined) continue;
      if (row.route.method === exchange.request.method) return serve(row, parameter, exchange, environment, logger);
      allowed.push(row.route.method);
    }
    if (allowed.length === 0) sendFailure(exchange, 404, 'Not found');
    else sendFailure(exchange, 405, 'Method not allowed', { allow: allowed.join(', ') });
  };
}

async function serve(
  { route, procedure }: Row,
  parameter: string,
  exchange: HttpContext,
  environment: CallEnvironment,
  logger: Logger,
): Promise<void> {
  const call = new RpcCall(exchange, { procedure: pathOf(route.rpc).slice(1), protocol: 'rest' }, environment);
  logWhenDone(logger, call, exchange);
  const read = () => readFields(route, parameter, exchange, call.deadline);
  try {
    const data = route.present(await runUnary(procedure, call, read, logger));
    sendEnvelope(exchange, 200, { status: true, message: route.message, data });
  } catch (error) {
    sendError(exchange, error);
  }
}

function sendError(exchange: HttpContext, error: unknown): void {
  if (error instanceof HttpError) sendFailure(exchange, error.status, error.message);
  else if (!(error instanceof ConnectError)) throw error;
  // The one deadline that is the caller's to keep is that of the body.
  else if (error.code === Code.DeadlineExceeded) sendFailure(exchange, 408, 'Request timeout');
  else sendConnectError(exchange, error);
}

function sendConnectError(exchange: HttpContext, error: ConnectError): void {
  const errors = violationsOf(error);
  const retryAfter = error.metadata.get('retry-after');
  sendEnvelope(
    exchange,
    codeToHttpStatus(error.code),
    { status: false, message: error.rawMessage, ...(errors.length > 0 && { errors }) },
    retryAfter === null ? {} : { 'retry-after': retryAfter },
  );
}

/** The path's last segment where the route has a parameter, '' where it has none, undefined for another path. */
function parameterOf(route: Route, path: string): string | undefined {
  const colon = route.path.indexOf(':');
  if (colon < 0) return path === route.path ? '' : undefined;
  if (!path.startsWith(route.path.slice(0, colon))) return undefined;
  const parameter = path.slice(colon);
  return parameter.includes('/') ? undefined : parameter;
}

function procedureFor({ rpc }: Route, procedures: ReadonlyMap<string, Procedure>): Procedure {
  const procedure = procedures.get(pathOf(rpc));
  if (!procedure) throw new Error(`No service implements ${rpc.name}`);
  return procedure;
}
