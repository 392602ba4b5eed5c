/** Opens the context of a request, reads its body, and sends its response. */
import { type IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { BlockList } from 'node:net';
import type { Readable } from 'node:stream';
import { JoinedBytes } from '../encoding/joined-bytes.ts';
import { HttpError } from './errors.ts';
import type { HttpContext, NodeRequest, NodeResponse, RequestContext, StreamContext } from './http-context.ts';
import { clientAddressOf, isTrustedProxy, requestIdOf, splitTarget } from './request-head.ts';
import { STRICT_TRANSPORT_SECURITY } from './tls.ts';

/** If more of a request body than this is unread, the connection is closed after the response. */
const MAX_UNREAD_BYTES = 65_536;

/** Headers of an answer that another attempt may improve soon. */
export const RETRY_SOON = { 'retry-after': '1' } as const;

/** Headers of a document that is the same for everyone, and changes rarely. */
export const CACHED_BRIEFLY = { 'cache-control': 'public, max-age=300' } as const;

/** Headers of a file with content of others: a browser that takes it for a page must run nothing and load nothing. */
export const INERT_HEADERS = {
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const;

/** Returns the headers of a page. @param policy the directives of its content security policy that allow something */
export function toPageHeaders(policy: string, frameAncestors: 'none' | 'self' = 'none') {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; ${policy}; base-uri 'none'; frame-ancestors '${frameAncestors}'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}

export interface Origin {
  readonly trustedProxies: BlockList;
  readonly receivedAt: number;
  readonly isSecure: boolean;
  /** Of HTTP/1.1. */
  readonly connection?: { hasLongBody: boolean } | undefined;
}

export function createHttpContext(request: NodeRequest, response: NodeResponse, origin: Origin): HttpContext {
  const { path, query } = splitTarget(request.url ?? '');
  return {
    ...createRequestFacts(request.headers, request.socket.remoteAddress, origin),
    request,
    response,
    path,
    query,
    allowLongBody() {
      if (origin.connection) origin.connection.hasLongBody = true;
    },
    onClose(listener) {
      response.once('close', () => {
        listener({ status: response.statusCode, isSent: response.headersSent && response.writableFinished });
      });
    },
  };
}

/** The HTTP status is always 200, because gRPC has its own status in the trailers. */
export function createStreamContext(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  origin: Origin,
): StreamContext {
  return {
    ...createRequestFacts(headers, stream.session?.socket.remoteAddress, origin),
    stream,
    path: String(headers[':path'] ?? ''),
    onClose(listener) {
      stream.once('close', () => listener({ status: 200, isSent: stream.headersSent && stream.writableFinished }));
    },
  };
}

function createRequestFacts(
  headers: IncomingHttpHeaders,
  remoteAddress: string | undefined,
  { trustedProxies, receivedAt, isSecure }: Origin,
): Omit<RequestContext, 'onClose'> {
  const clientAddress = clientAddressOf(remoteAddress, headers['x-forwarded-for'], trustedProxies);
  const requestId = requestIdOf(headers);
  return {
    headers,
    requestId,
    clientAddress,
    isFromTrustedProxy: () => isTrustedProxy(remoteAddress, trustedProxies),
    receivedAt,
    commonHeaders: commonHeadersOf(requestId, isSecure),
  };
}

export function commonHeadersOf(requestId: string, isSecure: boolean): Record<string, string> {
  return {
    'x-request-id': requestId,
    'cache-control': 'no-store',
    ...(isSecure && { 'strict-transport-security': STRICT_TRANSPORT_SECURITY }),
  };
}

/** Returns undefined if the header is missing or a list. `name` is in lower case. */
export function headerOf({ headers }: Pick<RequestContext, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** @throws HttpError 413 if `Content-Length` is larger than `maxBytes`. */
export function checkContentLength(request: NodeRequest, maxBytes: number): void {
  if (Number(headerOf(request, 'content-length') ?? 0) > maxBytes) throw new HttpError('PAYLOAD_TOO_LARGE');
}

/**
 * @param deadline in milliseconds of `performance.now()`
 * @throws HttpError 413 if the body is larger than `maxBytes`, or 408 if it has not arrived by the deadline.
 */
export async function readBody(request: NodeRequest, maxBytes: number, deadline: number): Promise<Buffer> {
  checkContentLength(request, maxBytes);
  const body = await collectBody(request, maxBytes, deadline);
  if (body.length > maxBytes) throw new HttpError('PAYLOAD_TOO_LARGE');
  return body;
}

/**
 * Resolves to the body, or as soon as more than `maxBytes` of it have arrived, to these.
 *
 * @throws HttpError 408 if it has not arrived by the deadline.
 */
export async function collectBody(body: Readable, maxBytes: number, deadline: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const joined = new JoinedBytes();
  const onData = (chunk: Buffer) => {
    joined.add(chunk);
    if (joined.length > maxBytes) onEnd();
  };
  const onEnd = () => {
    // `close` follows `end`, and would create an error for nothing.
    body.off('close', onClose);
    resolve(joined.bytes);
  };
  const onClose = () => reject(new HttpError('REQUEST_TIMEOUT'));
  const timer = setTimeout(onClose, Math.max(0, deadline - performance.now()));
  body.on('data', onData).once('end', onEnd).once('close', onClose);
  // It may have ended or closed before.
  if (body.readableEnded) onEnd();
  else if (body.destroyed) onClose();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    body.off('data', onData).off('end', onEnd).off('close', onClose);
  }
}

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

/** Limits for the rest of a body that is read after the response. */
const DISCARD_MS = 1_000;
const DISCARD_BYTES = 1_048_576;
/** Limits the number of chunks as well, because a chunk of one byte costs much more than its byte. */
const DISCARD_CHUNKS = 1_000;

/** Reads and drops the rest of a body, within limits. Then calls the listener, possibly more than once. */
export function discardBody(request: Readable, onDone: () => void): void {
  let length = 0;
  let chunks = 0;
  const timer = setTimeout(onDone, DISCARD_MS);
  const finish = () => {
    clearTimeout(timer);
    onDone();
  };
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > DISCARD_BYTES || ++chunks > DISCARD_CHUNKS) finish();
  });
  request.once('end', finish).once('error', finish).once('close', finish);
  request.resume();
}

/**
 * Sends `100 Continue` when a handler begins to read the body. The head may decide the answer, and then the client need
 * not send the body (RFC 9110, section 10.1.1).
 */
export function continueWhenRead(request: NodeRequest, response: NodeResponse): void {
  const onNewListener = (event: string) => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', onNewListener);
    if (!response.headersSent) response.writeContinue();
  };
  request.on('newListener', onNewListener);
}
