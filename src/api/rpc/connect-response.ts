/** Sends the answers of Connect's handlers, and those to requests that they do not get. */
import { Code, ConnectError } from '@connectrpc/connect';
import { encodeEnvelope, type UniversalHandler, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import { codeToHttpStatus, endStreamFlag, errorToJson } from '@connectrpc/connect/protocol-connect';
import { universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { invalidField, ServiceError, type Violation } from '../../domain/core/errors.ts';
import { HTTP_ERRORS, type HttpErrorReason } from '../../http/errors.ts';
import { headerOf, mustClose, send, sendJson, setCommonHeaders } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { endRefusedStream } from '../../http/http2-server.ts';
import { outcomeOf } from '../call-errors.ts';
import type { CallInfo, CallOutcome } from '../call-info.ts';
import { beginCall, type CallLog } from '../calls.ts';
import { readMediaType } from '../media-type.ts';
import { toConnectError, toErrorDetails, toHttpStatus } from './connect-errors.ts';
import type { connectOptions } from './connect-options.ts';
import { mendMessage, setGrpcStatus } from './grpc-status.ts';
import { toTextResponse } from './grpc-web-text.ts';
import { connectTypeOf, isText, protocolOf } from './protocol.ts';

/** The request header that names an encoding, with the response header that names the supported ones. */
const ENCODING_HEADERS = [
  ['content-encoding', 'accept-encoding'],
  ['connect-content-encoding', 'connect-accept-encoding'],
  ['grpc-encoding', 'grpc-accept-encoding'],
] as const;

/** Sets the common headers, and names the supported encodings if the request has another. */
export function setResponseHeaders(context: HttpContext, { acceptCompression }: typeof connectOptions): void {
  setCommonHeaders(context);
  const supported = acceptCompression.map(({ name }) => name);
  for (const [requested, accepted] of ENCODING_HEADERS) {
    const encoding = String(context.headers[requested] ?? 'identity');
    if (encoding !== 'identity' && !supported.includes(encoding))
      context.response.setHeader(accepted, supported.join());
  }
}

export async function writeResponse(context: HttpContext, given: UniversalServerResponse): Promise<void> {
  const binary = mendMessage(given);
  const response = isText(context) ? toTextResponse(binary) : binary;
  const status = toHttpStatus(response.status);
  if (mustClose(context) && response.body) {
    const body: Uint8Array[] = [];
    for await (const chunk of response.body) body.push(chunk);
    // `send` writes no trailers, so they go into the headers, where gRPC accepts them.
    const headers = Object.fromEntries([...(response.header ?? []), ...(response.trailer ?? [])]);
    send(context, status, Buffer.concat(body), headers);
  } else {
    // Rejects only if writing fails. Then the caller has left.
    universalResponseToNodeResponse({ ...response, status }, context.response).catch(() => {});
  }
}

const GRPC_TYPES = 'application/grpc, application/grpc-web, application/grpc-web-text';
const UNARY_TYPES = `application/json, application/proto, ${GRPC_TYPES}`;
const STREAM_TYPES = `application/connect+json, application/connect+proto, ${GRPC_TYPES}`;

const CONNECT_TYPE = /^application\/(?:connect\+)?(?:json|proto)$/;

/** Refuses a request that no protocol of the RPC matches: Connect would answer without a body. Otherwise returns false. */
export function refuseMismatch(
  context: HttpContext,
  { method, supportedContentType }: UniversalHandler,
  log: CallLog,
): boolean {
  const { request } = context;
  const version = headerOf(context, 'connect-protocol-version') ?? '1';
  if (request.method === 'POST' && version !== '1' && CONNECT_TYPE.test(readMediaType(context).name)) {
    refuseCall(context, invalidField('Connect-Protocol-Version', 'must be 1'), log);
    return true;
  }
  if (method.methodKind === 'bidi_streaming' && request.httpVersion.startsWith('1.')) {
    sendError(context, 505, toConnectError(new ServiceError('HTTP2_REQUIRED')), { connection: 'close' });
  } else if (request.method !== 'POST') {
    sendError(context, 405, toHttpError('METHOD_NOT_ALLOWED', Code.Unimplemented), { allow: 'POST' });
  } else if (!supportedContentType(connectTypeOf(context))) {
    const types = method.methodKind === 'unary' ? UNARY_TYPES : STREAM_TYPES;
    const violations = [{ field: 'Content-Type', message: `must be one of ${types}` }];
    const error = toHttpError('UNSUPPORTED_MEDIA_TYPE', Code.InvalidArgument, violations);
    sendError(context, 415, error, { 'accept-post': types });
  } else return false;
  beginOutsidePipeline(context, log, { code: 'invalid_argument' });
  return true;
}

function toHttpError(reason: HttpErrorReason, code: Code, violations?: readonly Violation[]): ConnectError {
  const error = new ConnectError(HTTP_ERRORS[reason][1], code);
  error.details = toErrorDetails({ reason, violations });
  return error;
}

export function refuseUnknownMethod(context: HttpContext): void {
  const error = toConnectError(new ServiceError('UNKNOWN_METHOD'));
  if (protocolOf(context) === 'connect') sendError(context, 404, error);
  else sendGrpcError(context, error);
}

/** Refuses a call without Connect's handlers, which would cost several times as much. */
export function refuseCall(context: HttpContext, cause: ServiceError, log: CallLog): void {
  beginOutsidePipeline(context, log, outcomeOf(cause));
  const error = toConnectError(cause);
  const { name: contentType } = readMediaType(context);
  if (contentType.startsWith('application/connect+')) {
    const end = JSON.stringify({ error: errorToJson(error, undefined) });
    send(context, 200, encodeEnvelope(endStreamFlag, Buffer.from(end)), { 'content-type': contentType });
  } else if (protocolOf(context) === 'connect') sendError(context, codeToHttpStatus(error.code), error);
  else sendGrpcError(context, error);
}

/** Begins the call of a stream, or of a request that is refused before the pipeline sees it. */
export function beginOutsidePipeline(context: HttpContext, log: CallLog, outcome: CallOutcome): CallInfo {
  const call = beginCall(log, context, { name: context.path.slice(1), protocol: protocolOf(context) });
  call.outcome = outcome;
  return call;
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

/** Sends an error in the JSON of Connect, for requests that match no protocol. */
function sendError(context: HttpContext, status: number, error: ConnectError, headers?: Record<string, string>): void {
  sendJson(context, status, JSON.stringify(errorToJson(error, undefined)), headers);
}
