/**
 * Serves HTTP/1.1 and HTTP/2 on one port: ALPN selects the protocol over TLS, the first bytes in cleartext. No input of
 * a client can end the process. Errors that Node would answer without a body get Usher's error body.
 */
import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { type BlockList, Server as NetServer, type Socket } from 'node:net';
import { findConnectionLimit } from './connection-limit.ts';
import { HttpConnections, SWEEP_INTERVAL_MS } from './connections.ts';
import { detectProtocol } from './detect-protocol.ts';
import { HTTP_ERRORS, type HttpErrorReason, type RenderError } from './errors.ts';
import { continueWhenRead } from './expect-continue.ts';
import {
  createHttpContext,
  type HttpContext,
  type HttpHandler,
  type NodeRequest,
  type NodeResponse,
  type StreamHandler,
} from './http-context.ts';
import { createHttp1Server } from './http1-server.ts';
import { createHttp2Server, endEmptyRequest, endUnreadStream, serveStreams } from './http2-server.ts';
import { RequestScheduler } from './request-scheduler.ts';
import { sendJson } from './response.ts';
import type { Certificate } from './tls.ts';
import { findHeadProblem } from './validate-head.ts';

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

export type Listener = Awaited<ReturnType<typeof openListener>>;

interface Handlers {
  readonly handle: HttpHandler;
  /** Gets HTTP/2 streams before Node wraps them in request objects. */
  readonly handleStream: StreamHandler;
  /** Paths that need no Host header, because health checks of load balancers send none. */
  readonly pathsWithoutHost: ReadonlySet<string>;
  onError(error: unknown, requestId: string): void;
}

/** How many connections the kernel queues. A client beyond that retries only after a second or more. */
const BACKLOG = 4_096;

/** How long a shutdown waits for requests that clients sent before they noticed the shutdown. */
const CLOSING_GRACE_MS = 500;

/** Binds the port. Rejects with Node's error, such as EADDRINUSE. */
export async function openListener(options: ListenerOptions) {
  const { host, port, tls, trustedProxies, keepAliveTimeoutMs, renderError } = options;
  const connections = new HttpConnections(keepAliveTimeoutMs, findConnectionLimit());
  const http1Server = createHttp1Server(options, connections);
  const { server: http1, connectionEvent, accept: acceptHttp1 } = http1Server;
  const http2 = createHttp2Server();
  const scheduler = new RequestScheduler();
  const { promise: ready, resolve: setReady } = Promise.withResolvers<void>();
  const origin = { trustedProxies, isSecure: tls !== undefined };
  let isDraining = false;

  const sockets = new Set<Socket>();
  http1.on('connection', (socket: Socket) => {
    scheduler.yieldToAccept();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const sweepTimer = setInterval(() => connections.sweep(), SWEEP_INTERVAL_MS).unref();
  /** Connections whose protocol is not yet known. */
  const undetected = new Set<Socket>();
  http1.on(connectionEvent, async (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    undetected.add(socket);
    await ready;
    if (socket.destroyed) return void undetected.delete(socket);
    const connection = connections.add(socket);
    const protocol = await detectProtocol(socket);
    undetected.delete(socket);
    if (protocol === 'h2') http2.accept(socket, connection);
    if (protocol === 'http/1.1') acceptHttp1(socket);
  });
  http2.server.on('session', (session) => {
    if (isDraining) session.close();
  });

  http1.listen({ port, host, backlog: BACKLOG });
  await once(http1, 'listening');
  const address = http1.address();
  if (address === null || typeof address === 'string') throw new Error('The listener has no port');

  const sendError = (context: HttpContext, reason: HttpErrorReason) =>
    sendJson(context, HTTP_ERRORS[reason][0], renderError(reason));

  /** Returns undefined if the connection has too many requests, and is closed. */
  function openContext(request: NodeRequest, response: NodeResponse): HttpContext | undefined {
    response.on('error', () => {});
    request.on('error', () => {});
    if ('stream' in request) endEmptyRequest(request);
    if (!(response instanceof ServerResponse)) endUnreadStream(response.stream, request);
    else if (!connections.startRequest(request.socket, response)) return undefined;
    else if (isDraining) response.shouldKeepAlive = false;
    const receivedAt = 'stream' in response ? http2.receivedAt.get(response.stream) : undefined;
    return createHttpContext(request, response, { ...origin, receivedAt: receivedAt ?? performance.now() });
  }

  return {
    port: address.port,
    /** The URL at which this machine reaches the server. */
    url: toLocalUrl(host, address.port, tls !== undefined),
    /** Open connections, by protocol. */
    get connectionCounts() {
      const http2Count = http2.sessions.size;
      return { http1: connections.size - http2Count - undetected.size, http2: http2Count };
    },
    setCertificate: http1Server.setCertificate,

    /** Begins to answer requests. Connections that were accepted before have waited for that. */
    serve({ handle, handleStream, pathsWithoutHost, onError }: Handlers) {
      const handleSafely = async (context: HttpContext) => {
        const { request, response, path } = context;
        const needsHost = !pathsWithoutHost.has(path);
        const problem = findHeadProblem(request.headers, request.rawHeaders, { needsHost });
        if (problem) return sendError(context, problem);
        try {
          await handle(context);
        } catch (error) {
          onError(error, context.requestId);
          if (!response.headersSent) sendError(context, 'INTERNAL_ERROR');
        }
      };
      const serveRequest = (request: NodeRequest, response: NodeResponse) => {
        const context = openContext(request, response);
        if (!context) return;
        const connection = connections.of(request.socket);
        // Only HTTP/1.1 sockets have a connection here. HTTP/2 requests have been scheduled as streams.
        if (!connection) return void handleSafely(context);
        scheduler.run(() => {
          if (!request.socket.destroyed) handleSafely(context);
        }, connection);
      };
      const refuse = (reason: HttpErrorReason) => (request: NodeRequest, response: NodeResponse) => {
        const context = openContext(request, response);
        if (context) sendError(context, reason);
      };
      for (const server of [http1, http2.server]) {
        server.on('request', serveRequest);
        server.on('checkContinue', (request: NodeRequest, response: NodeResponse) => {
          continueWhenRead(request, response);
          serveRequest(request, response);
        });
        server.on('checkExpectation', refuse('EXPECTATION_FAILED'));
      }
      http2.server.on('connect', refuse('METHOD_NOT_ALLOWED'));
      serveStreams(http2, handleStream, { scheduler, origin });
      setReady();
    },

    /** Accepts no more connections, waits for requests in flight, and closes the rest after `timeoutMs`. */
    async close(timeoutMs: number) {
      isDraining = true;
      const closed = once(http1, 'close');
      // The HTTP server's own `close` would also close idle connections at once, while a request may be on its way.
      NetServer.prototype.close.call(http1);
      for (const { responses } of connections) for (const response of responses) response.shouldKeepAlive = false;
      for (const session of http2.sessions.keys()) session.close();
      const grace = setTimeout(() => {
        const closeIdle = () => http1.closeIdleConnections();
        closeIdle();
        for (const { responses } of connections) for (const response of responses) response.once('close', closeIdle);
        for (const socket of undetected) socket.destroy();
      }, CLOSING_GRACE_MS);
      const timer = setTimeout(() => {
        for (const session of http2.sessions.keys()) session.destroy();
        for (const socket of sockets) socket.destroy();
      }, timeoutMs);
      await closed;
      clearTimeout(grace);
      clearTimeout(timer);
      clearInterval(sweepTimer);
      // Ends the timers of the HTTP server, too.
      http1.close();
    },
  };
}

function toLocalUrl(host: string, port: number, isSecure: boolean): string {
  const isLocal = ['127.0.0.1', '0.0.0.0', '::', '::1'].includes(host);
  const name = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${name}:${port}`;
}
