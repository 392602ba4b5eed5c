/**
 * Serves HTTP/1.1 and HTTP/2 on one port: ALPN selects the protocol over TLS, the first bytes in cleartext. No input of
 * a client can end the process. Errors that Node would answer without a body get Usher's error body.
 */
import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { type BlockList, Server as NetServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { findConnectionLimit, HttpConnections, SWEEP_INTERVAL_MS } from './connections.ts';
import { HTTP_ERRORS, type HttpErrorReason, type RenderError } from './errors.ts';
import { continueWhenRead, createHttpContext, sendJson } from './exchange.ts';
import type { HttpContext, NodeRequest, NodeResponse, PathHandler, StreamHandler } from './http-context.ts';
import { createHttp1Server } from './http1-server.ts';
import { createHttp2Server, endEmptyRequest, endUnreadStream, serveStreams } from './http2-server.ts';
import { joinChunks } from './join-chunks.ts';
import { findHeadProblem } from './request-head.ts';
import { RequestScheduler } from './request-scheduler.ts';
import type { Certificate } from './tls.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Undefined for cleartext. */
  readonly tls: Certificate | undefined;
  readonly trustedProxies: BlockList;
  /** How long a connection may be idle between requests. */
  readonly keepAliveTimeoutMs: number;
  readonly renderError: RenderError;
}

interface Handlers {
  /** They are asked in this order. The listener answers 404 for a path that none of them serves. */
  readonly handlers: readonly PathHandler[];
  /** Gets HTTP/2 streams before Node wraps them in request objects. */
  readonly handleStream: StreamHandler;
  /** Paths that need no Host header, because health checks of load balancers send none. */
  readonly pathsWithoutHost: ReadonlySet<string>;
  /** There is no request if a connection could not be accepted. */
  onError(error: unknown, requestId?: string): void;
}

/** How many connections the kernel queues. A client beyond that retries only after a second or more. */
const BACKLOG = 4_096;

/** How long a shutdown waits for requests that clients sent before they noticed the shutdown. */
const CLOSING_GRACE_MS = 500;

export class Listener {
  /** While `waiting`, it accepts connections and reads nothing. While `draining`, it accepts none. */
  #state: 'waiting' | 'serving' | 'draining' = 'waiting';
  readonly #options: ListenerOptions;
  readonly #connections: HttpConnections;
  readonly #http1: ReturnType<typeof createHttp1Server>;
  readonly #http2 = createHttp2Server();
  readonly #scheduler = new RequestScheduler();
  readonly #serving = Promise.withResolvers<void>();
  readonly #sockets = new Set<Socket>();
  /** Connections whose protocol is not yet known. */
  readonly #undetected = new Set<Socket>();
  readonly #sweepTimer = setInterval(() => this.#connections.sweep(), SWEEP_INTERVAL_MS).unref();
  readonly #origin: { readonly trustedProxies: BlockList; readonly isSecure: boolean };

  private constructor(options: ListenerOptions) {
    this.#options = options;
    this.#origin = { trustedProxies: options.trustedProxies, isSecure: options.tls !== undefined };
    this.#connections = new HttpConnections(options.keepAliveTimeoutMs, findConnectionLimit());
    this.#http1 = createHttp1Server(options, this.#connections);
    const { server, connectionEvent } = this.#http1;
    server.on('connection', (socket: Socket) => {
      this.#scheduler.yieldToAccept();
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on(connectionEvent, (socket: Socket) => this.#detect(socket));
  }

  /** Binds the port. Rejects with Node's error, such as EADDRINUSE. */
  static async open(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options);
    const { server } = listener.#http1;
    server.listen({ port: options.port, host: options.host, backlog: BACKLOG });
    await once(server, 'listening');
    // A connection may be lost before it is accepted, such as for want of kernel memory. `serve` reports it.
    server.on('error', () => {});
    return listener;
  }

  get port(): number {
    const address = this.#http1.server.address();
    if (address === null || typeof address === 'string') throw new Error('The listener has no port');
    return address.port;
  }

  /** The URL at which this machine reaches the server. */
  get url(): string {
    return toLocalUrl(this.#options.host, this.port, this.#origin.isSecure);
  }

  /** Open connections, by protocol. */
  get connectionCounts(): { http1: number; http2: number } {
    const http2 = this.#http2.sessions.size;
    return { http1: this.#connections.size - http2 - this.#undetected.size, http2 };
  }

  setCertificate(certificate: Certificate): void {
    this.#http1.setCertificate(certificate);
  }

  /** Begins to answer requests. Connections that were accepted before have waited for that. */
  serve(handlers: Handlers): void {
    if (this.#state === 'waiting') this.#state = 'serving';
    const onRequest = (request: NodeRequest, response: NodeResponse) => this.#serve(request, response, handlers);
    const refuse = (reason: HttpErrorReason) => (request: NodeRequest, response: NodeResponse) => {
      const context = this.#openContext(request, response);
      if (context) this.#sendError(context, reason);
    };
    for (const server of [this.#http1.server, this.#http2.server]) {
      server.on('request', onRequest);
      server.on('checkContinue', (request: NodeRequest, response: NodeResponse) => {
        continueWhenRead(request, response);
        onRequest(request, response);
      });
      server.on('checkExpectation', refuse('EXPECTATION_FAILED'));
    }
    this.#http1.server.on('error', (error) => handlers.onError(error));
    this.#http2.server.on('connect', refuse('METHOD_NOT_ALLOWED'));
    serveStreams(this.#http2, handlers.handleStream, { scheduler: this.#scheduler, origin: this.#origin });
    this.#serving.resolve();
  }

  /** Accepts no more connections, waits for requests in flight, and closes the rest after `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    this.#state = 'draining';
    const { server: http1 } = this.#http1;
    const { server: http2, sessions } = this.#http2;
    const closed = once(http1, 'close');
    // The HTTP server's own `close` would also close idle connections at once, while a request may be on its way.
    NetServer.prototype.close.call(http1);
    for (const { responses } of this.#connections) for (const response of responses) response.shouldKeepAlive = false;
    for (const session of sessions.keys()) session.close();
    // A connection that was accepted before may turn out to speak HTTP/2 only now.
    http2.on('session', (session) => session.close());
    const grace = setTimeout(() => {
      const closeIdle = () => http1.closeIdleConnections();
      closeIdle();
      for (const { responses } of this.#connections)
        for (const response of responses) response.once('close', closeIdle);
      for (const socket of this.#undetected) socket.destroy();
    }, CLOSING_GRACE_MS);
    const timer = setTimeout(() => {
      for (const session of sessions.keys()) session.destroy();
      for (const socket of this.#sockets) socket.destroy();
    }, timeoutMs);
    await closed;
    clearTimeout(grace);
    clearTimeout(timer);
    // Ends the timers of the HTTP server, too.
    http1.close();
    clearInterval(this.#sweepTimer);
    this.#http2.close();
  }

  async #detect(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy());
    this.#undetected.add(socket);
    await this.#serving.promise;
    if (socket.destroyed) return void this.#undetected.delete(socket);
    const connection = this.#connections.add(socket);
    socket.once('close', () => this.#scheduler.forget(connection));
    const protocol = await detectProtocol(socket);
    this.#undetected.delete(socket);
    if (protocol === 'h2') this.#http2.accept(socket, connection);
    if (protocol === 'http/1.1') this.#http1.accept(socket);
  }

  #serve(request: NodeRequest, response: NodeResponse, handlers: Handlers): void {
    const context = this.#openContext(request, response);
    if (!context) return;
    const connection = this.#connections.of(request.socket);
    // Only HTTP/1.1 sockets have a connection here. HTTP/2 requests have been scheduled as streams.
    if (!connection) return void this.#handle(context, handlers);
    this.#scheduler.run(() => {
      if (!request.socket.destroyed) this.#handle(context, handlers);
    }, connection);
  }

  async #handle(context: HttpContext, { handlers, pathsWithoutHost, onError }: Handlers): Promise<void> {
    const { request, response, path } = context;
    const needsHost = !pathsWithoutHost.has(path);
    const problem = findHeadProblem(request.headers, request.rawHeaders, { needsHost });
    if (problem) return this.#sendError(context, problem);
    try {
      for (const handle of handlers) if (await handle(context)) return;
      this.#sendError(context, 'NOT_FOUND');
    } catch (error) {
      onError(error, context.requestId);
      if (!response.headersSent) this.#sendError(context, 'INTERNAL_ERROR');
    }
  }

  /** Returns undefined if the connection has too many requests, and is closed. */
  #openContext(request: NodeRequest, response: NodeResponse): HttpContext | undefined {
    response.on('error', () => {});
    request.on('error', () => {});
    if (mayHaveBody(request)) joinChunks(request);
    if ('stream' in request) endEmptyRequest(request);
    if (!(response instanceof ServerResponse)) endUnreadStream(response.stream, request);
    else if (!this.#connections.startRequest(request.socket, response)) return undefined;
    else if (this.#state === 'draining') response.shouldKeepAlive = false;
    const arrivedAt = 'stream' in response ? this.#http2.receivedAt.get(response.stream) : undefined;
    const [receivedAt, connection] = [arrivedAt ?? performance.now(), this.#connections.of(request.socket)];
    return createHttpContext(request, response, { ...this.#origin, receivedAt, connection });
  }

  #sendError(context: HttpContext, reason: HttpErrorReason): void {
    sendJson(context, HTTP_ERRORS[reason][0], this.#options.renderError(reason));
  }
}

function toLocalUrl(host: string, port: number, isSecure: boolean): string {
  const isLocal = ['127.0.0.1', '0.0.0.0', '::', '::1'].includes(host);
  const name = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${name}:${port}`;
}

/** A request of HTTP/1.1 without these headers has no body (RFC 9112, section 6.3). */
function mayHaveBody(request: NodeRequest): boolean {
  const { headers } = request;
  return 'stream' in request || headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/**
 * Returns the protocol of the connection, or `none` if the connection ends before that is known. Over TLS, ALPN has
 * negotiated the protocol. In cleartext, HTTP/2 begins with the preface (RFC 9113, section 3.4); the bytes that were
 * read are pushed back.
 */
async function detectProtocol(socket: Socket): Promise<'h2' | 'http/1.1' | 'none'> {
  if (socket instanceof TLSSocket) return socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1';

  const { promise, resolve } = Promise.withResolvers<'h2' | 'http/1.1' | 'none'>();
  let seen = Buffer.alloc(0);
  const onReadable = () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) seen = Buffer.concat([seen, chunk]);
    const common = Math.min(seen.length, HTTP2_PREFACE.length);
    const isPreface = seen.subarray(0, common).equals(HTTP2_PREFACE.subarray(0, common));
    if (!isPreface) resolve('http/1.1');
    else if (common === HTTP2_PREFACE.length) resolve('h2');
  };
  const onEnd = () => resolve('none');
  socket.on('readable', onReadable).once('end', onEnd).once('close', onEnd);
  // Bytes that arrived before the listener was added emit no event.
  onReadable();

  const protocol = await promise;
  socket.off('readable', onReadable).off('end', onEnd).off('close', onEnd);
  if (protocol === 'none') socket.destroy();
  else socket.unshift(seen);
  return protocol;
}
