/** An HTTP request and its response, with the same interface for HTTP/1.1 and HTTP/2. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from 'node:http2';

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
