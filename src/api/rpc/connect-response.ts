/** What Connect's handlers answer, on a Node response, with the statuses that they leave without a body. */
import { Code } from '@connectrpc/connect';
import { encodeEnvelope, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import { endStreamFlag } from '@connectrpc/connect/protocol-connect';
import { universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { type HttpContext, headerOf } from '../../http/http-context.ts';
import { mustClose, send, sendJson } from '../../http/response.ts';
import { toHttpStatus } from './connect-errors.ts';
import type { RpcProtocol } from './timeout.ts';

/** What Connect refuses without a body, since none of its protocols claims the request. */
export const REFUSED_STATUSES = new Set([405, 415, 505]);

/** Sends the response of one of Connect's handlers. */
export async function writeResponse(context: HttpContext, response: UniversalServerResponse): Promise<void> {
  if (response.status === 405) {
    sendError(context, 405, 'unimplemented', 'Method not allowed', { allow: 'POST' });
  } else if (response.status === 415) {
    sendError(context, 415, 'invalid_argument', 'Unsupported media type');
  } else if (response.status === 505) {
    sendError(context, 505, 'unimplemented', 'This method needs HTTP/2', { connection: 'close' });
  } else if (mustClose(context) && response.body) {
    const body: Uint8Array[] = [];
    for await (const chunk of response.body) body.push(chunk);
    // A response that is sent whole has its trailers in its head, where gRPC takes them, too.
    const headers = Object.fromEntries([...(response.header ?? []), ...(response.trailer ?? [])]);
    send(context, toHttpStatus(response.status), Buffer.concat(body), headers);
  } else {
    // Rejects only if writing fails; then nobody is left to tell.
    universalResponseToNodeResponse({ ...response, status: toHttpStatus(response.status) }, context.response).catch(
      () => {},
    );
  }
}

/** Answers a request for an RPC that does not exist. */
export function refuseUnknownMethod(context: HttpContext): void {
  const message = 'Unknown method';
  if (protocolOf(context) === 'connect') sendError(context, 404, 'unimplemented', message);
  else sendGrpcError(context, Code.Unimplemented, message);
}

/** Answers a request for a stream when too many are open, at a fraction of what Connect's handlers cost. */
export function refuseStream(context: HttpContext): void {
  const message = 'Too many open streams';
  const contentType = headerOf(context, 'content-type') ?? '';
  if (contentType.startsWith('application/connect+')) {
    const end = JSON.stringify({ error: { code: 'resource_exhausted', message } });
    send(context, 200, encodeEnvelope(endStreamFlag, Buffer.from(end)), { 'content-type': contentType });
  } else if (protocolOf(context) === 'connect') sendError(context, 429, 'resource_exhausted', message);
  else sendGrpcError(context, Code.ResourceExhausted, message);
}

function sendGrpcError(context: HttpContext, code: Code, message: string): void {
  const headers = {
    'content-type': headerOf(context, 'content-type') ?? '',
    'grpc-status': String(code),
    'grpc-message': message,
  };
  const { response } = context;
  // Trailers-only: gRPC takes them from a head that is the whole response.
  if ('stream' in response)
    response.stream.respond({ ...headers, 'x-request-id': context.requestId }, { endStream: true });
  else send(context, 200, '', headers);
}

/** Sends an error in Connect's shape, for requests that no protocol claims. */
function sendError(
  context: HttpContext,
  status: number,
  code: string,
  message: string,
  headers?: Record<string, string>,
): void {
  sendJson(context, status, JSON.stringify({ code, message }), headers);
}

/** Returns the protocol that the content type names. */
export function protocolOf({ request }: HttpContext): RpcProtocol {
  const contentType = (headerOf(request, 'content-type') ?? '').toLowerCase();
  if (contentType.startsWith('application/grpc-web')) return 'grpc-web';
  return contentType.startsWith('application/grpc') ? 'grpc' : 'connect';
}
