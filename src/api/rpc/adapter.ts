/**
 * HTTP to Connect, gRPC and gRPC-Web. Connect speaks the protocols; this adds what it leaves open:
 * limits, a deadline for every call, and errors that put the blame where it belongs.
 */
import { Code, type ConnectError, createConnectRouter, createContextValues } from '@connectrpc/connect';
import {
  createAsyncIterable,
  type UniversalHandler,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import type { Logger } from 'pino';
import { type HttpAdapter, type HttpContext, headerOf } from '../../http/http-context.ts';
import { mustClose, send, sendJson, setCommonHeaders } from '../../http/response.ts';
import { type CallEnvironment, callKey, RpcCall, type RpcProtocol } from '../call.ts';
import { logWhenDone } from '../call-log.ts';
import { deadlineErrorOf, TIMED_OUT, withinDeadline } from '../deadline.ts';
import { toDecodingError, toHttpStatus } from '../errors.ts';
import type { Services } from '../services.ts';
import { createConnectFastPath } from './connect-fast-path.ts';
import { connectOptions } from './connect-options.ts';
import { dropEndlessTimeout, takeTimeout } from './timeout.ts';

export function createRpcAdapter(
  { procedures, register }: Services,
  environment: CallEnvironment,
  logger: Logger,
): HttpAdapter {
  const tryFastPath = createConnectFastPath(procedures, environment, logger);
  const router = createConnectRouter(connectOptions);
  register(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

  return async (exchange) => {
    if (await tryFastPath(exchange)) return true;
    const handler = handlers.get(exchange.path);
    if (handler) await serve(handler, exchange, environment, logger);
    else if (/^\/[\w.]+\.\w+\/\w+$/.test(exchange.path)) refuseUnknown(exchange);
    else return false;
    return true;
  };
}

async function serve(
  handler: UniversalHandler,
  exchange: HttpContext,
  environment: CallEnvironment,
  logger: Logger,
): Promise<void> {
  setCommonHeaders(exchange);
  const values = createContextValues();
  const request = universalRequestFromNodeRequest(exchange.request, exchange.response, undefined, values);
  const protocol = protocolOf(exchange);
  // A stream lasts as long as its caller lets it: Connect keeps that time.
  const isUnary = handler.method.methodKind === 'unary';
  if (!isUnary) dropEndlessTimeout(protocol, request.header);
  const timeoutMs = isUnary ? takeTimeout(protocol, request.header) : undefined;
  const call = new RpcCall(exchange, { procedure: handler.requestPath.slice(1), protocol, timeoutMs }, environment);
  values.set(callKey, call);
  logWhenDone(logger, call, exchange);

  const response = await respond(handler, request, call);
  await reply(exchange, response, call);
}

/** The response of the call, or that of the error which ended it before its implementation did. */
async function respond(
  handler: UniversalHandler,
  request: UniversalServerRequest,
  call: RpcCall,
): Promise<UniversalServerResponse> {
  const isUnary = handler.method.methodKind === 'unary';
  let rejection: ConnectError | undefined;
  try {
    const response = await (isUnary ? withinDeadline(() => handler(request), call) : handler(request));
    rejection = response === TIMED_OUT ? deadlineErrorOf(call) : decodingErrorOf(call);
    if (response !== TIMED_OUT && !rejection) return response;
  } catch (error) {
    // Connect itself fails where it quotes text that no header can carry.
    rejection = decodingErrorOf(call);
    if (!rejection) throw error;
  }
  // Once more with no body and the gate closed: Connect shapes the error as the protocol wants it.
  call.rejection = rejection;
  return handler({ ...request, body: createAsyncIterable<Uint8Array>([]) });
}

/** Why the message could not be decoded, where the call came to its end over that. */
function decodingErrorOf(call: RpcCall): ConnectError | undefined {
  return call.phase === 'decoding' ? toDecodingError(call.signal?.reason) : undefined;
}

/** What Connect refuses without a word, since no protocol of its own claims the request. */
const REFUSALS = new Set([405, 415, 505]);

async function reply(exchange: HttpContext, response: UniversalServerResponse, call: RpcCall): Promise<void> {
  if (REFUSALS.has(response.status)) call.code = Code.InvalidArgument;
  if (response.status === 405) {
    sendError(exchange, 405, 'unimplemented', 'Method not allowed', { allow: 'POST' });
  } else if (response.status === 415) {
    sendError(exchange, 415, 'invalid_argument', 'Unsupported media type');
  } else if (response.status === 505) {
    sendError(exchange, 505, 'unimplemented', 'This method needs HTTP/2', { connection: 'close' });
  } else if (mustClose(exchange) && response.body) {
    const body: Uint8Array[] = [];
    for await (const chunk of response.body) body.push(chunk);
    // A reply that has to be sent whole has its trailers in its head, as gRPC takes them too.
    const headers = Object.fromEntries([...(response.header ?? []), ...(response.trailer ?? [])]);
    send(exchange, toHttpStatus(response.status), Buffer.concat(body), headers);
  } else {
    // Rejects only when writing fails, and then there is nobody left to tell.
    universalResponseToNodeResponse({ ...response, status: toHttpStatus(response.status) }, exchange.response).catch(
      () => {},
    );
  }
}

function refuseUnknown(exchange: HttpContext): void {
  if (protocolOf(exchange) === 'connect') {
    sendError(exchange, 404, 'unimplemented', 'Unknown method');
    return;
  }
  const headers = {
    'content-type': headerOf(exchange.request, 'content-type') ?? '',
    'grpc-status': String(Code.Unimplemented),
    'grpc-message': 'Unknown method',
  };
  const { response } = exchange;
  // Trailers only: gRPC takes them from a head that is the whole reply.
  if ('stream' in response)
    response.stream.respond({ ...headers, 'x-request-id': exchange.requestId }, { endStream: true });
  else send(exchange, 200, '', headers);
}

/** An error in Connect's shape, for requests that no protocol claims. */
function sendError(
  exchange: HttpContext,
  status: number,
  code: string,
  message: string,
  headers?: Record<string, string>,
): void {
  sendJson(exchange, status, JSON.stringify({ code, message }), headers);
}

function protocolOf({ request }: HttpContext): RpcProtocol {
  const contentType = (headerOf(request, 'content-type') ?? '').toLowerCase();
  if (contentType.startsWith('application/grpc-web')) return 'grpc-web';
  return contentType.startsWith('application/grpc') ? 'grpc' : 'connect';
}
