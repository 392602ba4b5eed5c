/** One HTTP request and its response, HTTP/1.1 and HTTP/2 alike, with what every handler needs of it. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from 'node:http2';
import type { BlockList } from 'node:net';
import { clientAddressOf } from './client-address.ts';

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** What is known of a request before its body. */
export interface RequestContext {
  readonly headers: IncomingHttpHeaders;
  /** On the reply as `x-request-id`, and in every log line of the request. */
  readonly requestId: string;
  readonly clientAddress: string;
  /** The instant, in milliseconds of `performance.now()`, at which it came. */
  readonly receivedAt: number;
}

export interface HttpContext extends RequestContext {
  readonly request: NodeRequest;
  readonly response: NodeResponse;
  /** The target's path as it was sent, without the query. */
  readonly path: string;
  /** The target's query as it was sent, without the question mark. */
  readonly query: string;
}

/** A request over HTTP/2 that has not become a Node request yet. */
export interface StreamContext extends RequestContext {
  readonly stream: ServerHttp2Stream;
  readonly path: string;
  /** Makes it one after all: nothing of the stream may have been used up. */
  fallThrough(): void;
}

/** Takes a stream and returns true, or returns false and leaves it as it was. */
export type StreamHandler = (exchange: StreamContext) => boolean;

/** Answers the exchange and resolves to true, or to false where its path is another's. */
export type HttpAdapter = (exchange: HttpContext) => Promise<boolean>;

/** Answers an exchange; a rejection is a bug of ours and is answered with 500. */
export type HttpHandler = (exchange: HttpContext) => Promise<void> | void;

export function createHttpContext(
  request: NodeRequest,
  response: NodeResponse,
  { trustedProxies, receivedAt }: { trustedProxies: BlockList; receivedAt: number },
): HttpContext {
  const context = createRequestContext(request.headers, request.socket.remoteAddress, { trustedProxies, receivedAt });
  const { path, query } = splitTarget(request.url ?? '');
  return { request, response, path, query, ...context };
}

export function createRequestContext(
  headers: IncomingHttpHeaders,
  remoteAddress: string | undefined,
  { trustedProxies, receivedAt }: { trustedProxies: BlockList; receivedAt: number },
): RequestContext {
  const clientAddress = clientAddressOf(remoteAddress, headers['x-forwarded-for'], trustedProxies);
  return { headers, requestId: requestIdOf(headers), clientAddress, receivedAt };
}

/** Whether the request names a host that makes a URL; without one there is nothing to route by. */
export function hasValidAuthority(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): boolean {
  const authority = headers[':authority'] ?? headers.host;
  return (
    hasOneHost(rawHeaders) &&
    typeof authority === 'string' &&
    /^[^\s/?#@\\]+$/.test(authority) &&
    URL.canParse(`http://${authority}`)
  );
}

/** RFC 9112, section 3.2: a request with two is refused, since others might take the other one. */
function hasOneHost(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') count++;
  return count <= 1;
}

/** The most bytes of headers in a request, as `headerBytesOf` has it. */
export const MAX_HEADER_BYTES = 16_384;

/** Names and values, without what is between them. */
export function headerBytesOf(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

/** By its name in lower case; undefined where it is missing or a list. */
export function headerOf({ headers }: Pick<RequestContext, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** The caller's own request ID where it is well-formed, or else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:+/=-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Takes targets in origin form, and in absolute form as a proxy sends them (RFC 9112, section 3.2). */
function splitTarget(target: string): { path: string; query: string } {
  const origin = /^https?:\/\/[^/?#]*/i.exec(target)?.[0] ?? '';
  const [path = '', ...query] = target.slice(origin.length).split('?');
  return { path: path || '/', query: query.join('?') };
}
