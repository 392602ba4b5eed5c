/** An HTTP request and its response, with the same interface for HTTP/1.1 and HTTP/2. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from 'node:http2';
import { type BlockList, isIP } from 'node:net';
import { STRICT_TRANSPORT_SECURITY } from './tls.ts';

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** A request before its body is read. */
export interface RequestContext {
  readonly headers: IncomingHttpHeaders;
  /** The `x-request-id` of the response and of every log line of the request. */
  readonly requestId: string;
  readonly clientAddress: string;
  /** Returns whether headers from earlier hops, such as `traceparent`, can be trusted. */
  isFromTrustedProxy(): boolean;
  /** When the request arrived, in milliseconds of `performance.now()`. */
  readonly receivedAt: number;
  readonly commonHeaders: Readonly<Record<string, string>>;
  /** Calls the listener once, when the response has ended. `isSent` is false if the client left before. */
  onClose(listener: (result: { readonly status: number; readonly isSent: boolean }) => void): void;
}

export interface HttpContext extends RequestContext {
  readonly request: NodeRequest;
  readonly response: NodeResponse;
  /** The path of the request target as it was sent, without the query. */
  readonly path: string;
  /** The query of the request target as it was sent, without the question mark. */
  readonly query: string;
  /** Lets the body take as long as its handler allows. Otherwise it must arrive within some seconds. */
  allowLongBody(): void;
}

/** A request on an HTTP/2 stream that Node has not wrapped in a request object. */
export interface StreamContext extends RequestContext {
  readonly stream: ServerHttp2Stream;
  readonly path: string;
}

/** Returns true if it answers the stream. Otherwise it leaves the stream untouched and returns false. */
export type StreamHandler = (context: StreamContext) => boolean;

/** Answers the request and resolves to true, or resolves to false if another handler serves the path. */
export type PathHandler = (context: HttpContext) => Promise<boolean>;

/** Answers every request. If it rejects, which is a defect, the listener answers 500. */
export type HttpHandler = (context: HttpContext) => Promise<void> | void;

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

/** Returns the caller's own request ID if it is well-formed, or a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:+/=-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Accepts the origin form, and the absolute form that proxies send (RFC 9112, section 3.2). */
function splitTarget(target: string): { path: string; query: string } {
  const origin = /^https?:\/\/[^/?#]*/i.exec(target)?.[0] ?? '';
  const rest = target.slice(origin.length);
  const end = rest.indexOf('?');
  return end < 0 ? { path: rest || '/', query: '' } : { path: rest.slice(0, end) || '/', query: rest.slice(end + 1) };
}

/**
 * Returns the address of the client: the remote address, or, behind trusted proxies, the last address in
 * X-Forwarded-For that is not a trusted proxy.
 */
export function clientAddressOf(
  remoteAddress: string | undefined,
  forwardedFor: string | string[] | undefined,
  trustedProxies: BlockList,
): string {
  let address = withoutIPv4Mapping(remoteAddress ?? '');
  if (forwardedFor === undefined || !isTrusted(address, trustedProxies)) return address;
  for (const hop of String(forwardedFor).split(',').reverse()) {
    const candidate = withoutIPv4Mapping(withoutPort(hop.trim()));
    if (isIP(candidate) === 0) return address;
    address = candidate;
    if (!isTrusted(address, trustedProxies)) return address;
  }
  return address;
}

function isTrustedProxy(remoteAddress: string | undefined, trustedProxies: BlockList): boolean {
  return isTrusted(withoutIPv4Mapping(remoteAddress ?? ''), trustedProxies);
}

function isTrusted(address: string, trustedProxies: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trustedProxies.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** Some proxies add a port: `192.0.2.1:1234` or `[2001:db8::1]:1234`. */
function withoutPort(hop: string): string {
  const [, address = hop] = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop) ?? /^\[(.*)\](?::\d+)?$/.exec(hop) ?? [];
  return address;
}

function withoutIPv4Mapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
