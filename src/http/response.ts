import { ServerResponse } from 'node:http';
import type { HttpContext, NodeRequest } from './http-context.ts';
import { discardBody } from './read-body.ts';

/** If more of a request body than this is unread, the connection is closed after the response. */
const MAX_UNREAD_BYTES = 65_536;

/** Headers of an answer that another attempt may improve soon. */
export const RETRY_SOON = { 'retry-after': '1' } as const;

/** Headers of a document that is the same for everyone, and changes rarely. */
export const CACHED_BRIEFLY = { 'cache-control': 'public, max-age=300' } as const;

/** Sends a JSON response. The names of `headers` are in lower case; they override the defaults. */
export function sendJson(
  context: HttpContext,
  status: number,
  json: string,
  headers: Record<string, string> = {},
): void {
  send(context, status, json, { 'content-type': 'application/json', ...headers });
}

/** Sends the whole response. Afterwards closes the connection if too much of the request is unread. */
export function send(
  context: HttpContext,
  status: number,
  body: string | Uint8Array,
  headers: Record<string, string>,
): void {
  const { request, response } = context;
  const isLast = mustClose(context);
  const head: HeadWriter = response;
  head.writeHead(status, {
    ...context.commonHeaders,
    'content-length': Buffer.byteLength(body),
    ...headers,
    ...(isLast && { connection: 'close' }),
  });
  const sent = request.method === 'HEAD' ? '' : body;
  if (isLast && response instanceof ServerResponse) endAfterRequest(request, response, sent);
  else response.end(sent);
}

/** The common part of both response classes. */
interface HeadWriter {
  writeHead(status: number, headers: Record<string, string | number>): unknown;
}

export function setCommonHeaders(context: HttpContext): void {
  for (const [name, value] of Object.entries(context.commonHeaders)) context.response.setHeader(name, value);
}

/**
 * Returns whether too much of an HTTP/1.1 request is unread to keep the connection, or whether a client has waited in
 * vain for `100 Continue`: it may leave the body out, and Usher would take the next request for the body.
 */
export function mustClose({ request, response }: HttpContext): boolean {
  if (request.complete || !(response instanceof ServerResponse)) return false;
  return (
    (request.headers.expect?.toLowerCase() === '100-continue' && !request.readableDidRead) ||
    request.headers['transfer-encoding'] !== undefined ||
    Number(request.headers['content-length'] ?? 0) > MAX_UNREAD_BYTES
  );
}

/**
 * Reads before it closes: closing while the client still sends resets the connection, and the client may lose the
 * response.
 */
function endAfterRequest(request: NodeRequest, response: ServerResponse, body: string | Uint8Array): void {
  response.write(body);
  discardBody(request, () => response.end());
}
