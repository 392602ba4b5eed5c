/**
 * The documented `/api` paths: finds the route, calls its RPC's implementation in process through
 * the same gate, and answers in the envelope.
 */
import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import {
  Code,
  type ConnectError,
  createContextValues,
  createHandlerContext,
  type HandlerContext,
} from '@connectrpc/connect';
import { invokeUnaryImplementation } from '@connectrpc/connect/protocol';
import type { Logger } from 'pino';
import { sendEnvelope, sendFailure } from '../net/envelope.ts';
import type { HttpExchange } from '../net/exchange.ts';
import { HttpError } from '../net/read-body.ts';
import { type CallEnvironment, callKey, RpcCall } from '../rpc/call.ts';
import { logWhenDone } from '../rpc/call-log.ts';
import { deadlineErrorOf, withinDeadline } from '../rpc/deadline.ts';
import { toConnectError, violationsOf } from '../rpc/errors.ts';
import { type Procedure, pathOf } from '../rpc/procedures.ts';
import { readFields } from './read-fields.ts';
import { type Route, routes } from './routes.ts';

const STATUSES: Partial<Record<Code, number>> = {
  [Code.InvalidArgument]: 400,
  [Code.Unauthenticated]: 401,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.FailedPrecondition]: 400,
  [Code.Unavailable]: 503,
};

export type RestAdapter = (exchange: HttpExchange) => Promise<void> | void;

export function createRestAdapter(
  procedures: ReadonlyMap<string, Procedure>,
  environment: CallEnvironment,
  logger: Logger,
): RestAdapter {
  const rows = routes.map((route) => ({ route, procedure: procedureFor(route, procedures) }));

  return (exchange) => {
    const matches = rows.filter(({ route }) => parameterOf(route, exchange.path) !== undefined);
    if (matches.length === 0) return sendFailure(exchange, 404, 'Not found');
    const match = matches.find(({ route }) => route.method === exchange.request.method);
    if (!match) {
      const allow = matches.map(({ route }) => route.method).join(', ');
      return sendFailure(exchange, 405, 'Method not allowed', { allow });
    }
    return serve(match.route, match.procedure, exchange, environment, logger);
  };
}

async function serve(
  route: Route,
  { gate, implementation, interceptors }: Procedure,
  exchange: HttpExchange,
  environment: CallEnvironment,
  logger: Logger,
): Promise<void> {
  const procedure = pathOf(route.rpc).slice(1);
  const call = new RpcCall(exchange, { procedure, protocol: 'rest' }, environment);
  logWhenDone(logger, call, exchange);
  const context = createRestContext(route, call, exchange);
  try {
    await gate(context);
    const fields = await readFields(route, parameterOf(route, exchange.path) ?? '', exchange, call.deadline);
    const message = toMessage(route.rpc.input, fields);
    const response = await withinDeadline(
      () => invokeUnaryImplementation(implementation, context, message, interceptors),
      call,
    );
    if (!response) throw deadlineErrorOf(call);
    sendEnvelope(exchange, 200, { status: true, message: route.message, data: route.present(response) });
  } catch (error) {
    sendError(exchange, error instanceof HttpError ? error : toConnectError(error, call, logger), call);
  }
}

function createRestContext(route: Route, call: RpcCall, { request }: HttpExchange): HandlerContext {
  return createHandlerContext({
    service: route.rpc.parent,
    method: route.rpc,
    protocolName: 'rest',
    requestMethod: request.method ?? '',
    url: request.url ?? '',
    contextValues: createContextValues().set(callKey, call),
  });
}

/**
 * The fields go in as they came, whatever their type: the verb checks every one of them, types
 * included, and so reports all that is wrong in one answer.
 */
function toMessage<Desc extends DescMessage>(schema: Desc, fields: Record<string, unknown>): MessageShape<Desc> {
  return Object.assign(create(schema), fields);
}

function sendError(exchange: HttpExchange, error: HttpError | ConnectError, call: RpcCall): void {
  if (error instanceof HttpError) {
    call.code = error.status === 408 ? Code.DeadlineExceeded : Code.InvalidArgument;
    sendFailure(exchange, error.status, error.message);
    return;
  }
  call.code = error.code;
  const errors = violationsOf(error);
  const retryAfter = error.metadata.get('retry-after');
  sendEnvelope(
    exchange,
    STATUSES[error.code] ?? 500,
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
