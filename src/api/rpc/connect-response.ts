/** Writes responses of Connect's handlers, and adds a body to those statuses that Connect sends without one. */
import { Code, ConnectError } from '@connectrpc/connect';
import { encodeEnvelope, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import { codeToHttpStatus, endStreamFlag, errorToJson } from '@connectrpc/connect/protocol-connect';
import { universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { ServiceError } from '../../domain/core/errors.ts';
import { HTTP_ERRORS, type HttpErrorReason } from '../../http/errors.ts';
import { mustClose, send, sendJson } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { endRefusedStream } from '../../http/http2-server.ts';
import { readMediaType } from '../media-type.ts';
import { toConnectError, toHttpStatus } from './connect-errors.ts';
import { toErrorDetails } from './error-details.ts';
import { mendMessage, setGrpcStatus } from './grpc-status.ts';
import { toBinaryType, toTextResponse } from './grpc-web-text.ts';
import type { RpcProtocol } from './timeout.ts';

/** Connect answers these statuses without a body, because none of its protocols matches the request. */
export const REFUSED_STATUSES = new Set([405, 415, 505]);

const GRPC_TYPES = 'application/grpc, application/grpc-web, application/grpc-web-text';
const ACCEPTED_TYPES = {
  unary: `application/json, application/proto, ${GRPC_TYPES}`,
  stream: `application/connect+json, application/connect+proto, ${GRPC_TYPES}`,
};

export async function writeResponse(
  context: HttpContext,
  given: UniversalServerResponse,
  kind: keyof typeof ACCEPTED_TYPES,
): Promise<void> {
  const binary = mendMessage(given);
  const isText = binary.status === 200 && toBinaryType(readMediaType(context).name) !== undefined;
  const response = isText ? toTextResponse(binary) : binary;
  if (response.status === 405) {
    sendHttpError(context, Code.Unimplemented, 'METHOD_NOT_ALLOWED', { allow: 'POST' });
  } else if (response.status === 415) {
    sendHttpError(context, Code.InvalidArgument, 'UNSUPPORTED_MEDIA_TYPE', { 'accept-post': ACCEPTED_TYPES[kind] });
  } else if (response.status === 505) {
    sendError(context, 505, toConnectError(new ServiceError('HTTP2_REQUIRED')), { connection: 'close' });
  } else if (mustClose(context) && response.body) {
    const body: Uint8Array[] = [];
    for await (const chunk of response.body) body.push(chunk);
    // `send` writes no trailers, so they go into the headers, where gRPC accepts them.
    const headers = Object.fromEntries([...(response.header ?? []), ...(response.trailer ?? [])]);
    send(context, toHttpStatus(response.status), Buffer.concat(body), headers);
  } else {
    // Rejects only if writing fails. Then the caller has left.
    universalResponseToNodeResponse({ ...response, status: toHttpStatus(response.status) }, context.response).catch(
      () => {},
    );
  }
}

export function refuseUnknownMethod(context: HttpContext): void {
  const error = toConnectError(new ServiceError('UNKNOWN_METHOD'));
  if (protocolOf(context) === 'connect') sendError(context, 404, error);
  else sendGrpcError(context, error);
}

/** Refuses a stream without Connect's handlers, which would cost several times as much. */
export function refuseStream(context: HttpContext, cause: ServiceError): void {
  const error = toConnectError(cause);
  const { name: contentType } = readMediaType(context);
  if (contentType.startsWith('application/connect+')) {
    const end = JSON.stringify({ error: errorToJson(error, undefined) });
    send(context, 200, encodeEnvelope(endStreamFlag, Buffer.from(end)), { 'content-type': contentType });
  } else if (protocolOf(context) === 'connect') sendError(context, codeToHttpStatus(error.code), error);
  else sendGrpcError(context, error);
}

function sendGrpcError(context: HttpContext, error: ConnectError): void {
  const headers = {
    'content-type': readMediaType(context).name,
    ...Object.fromEntries(setGrpcStatus(new Headers(), error)),
  };
  const { response } = context;
  // "Trailers-Only" of gRPC: the response is a single header block.
  if ('stream' in response) {
    const { stream } = response;
    stream.respond({ ...context.commonHeaders, ...response.getHeaders(), ...headers }, { endStream: true });
    endRefusedStream(stream);
  } else send(context, 200, '', headers);
}

function sendHttpError(
  context: HttpContext,
  code: Code,
  reason: HttpErrorReason,
  headers?: Record<string, string>,
): void {
  const [status, message] = HTTP_ERRORS[reason];
  const error = new ConnectError(message, code);
  error.details = toErrorDetails(reason);
  sendError(context, status, error, headers);
}

/** Sends an error in the JSON of Connect, for requests that match no protocol. */
function sendError(context: HttpContext, status: number, error: ConnectError, headers?: Record<string, string>): void {
  sendJson(context, status, JSON.stringify(errorToJson(error, undefined)), headers);
}

export function protocolOf(context: HttpContext): RpcProtocol {
  const { name } = readMediaType(context);
  if (name.startsWith('application/grpc-web')) return 'grpc-web';
  return name.startsWith('application/grpc') ? 'grpc' : 'connect';
}
