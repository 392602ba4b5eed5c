/**
 * One port for HTTP/1.1 and HTTP/2: by ALPN over TLS, by the first bytes in cleartext. Nothing a
 * client sends here ends the process, and what Node would answer by itself is answered in the
 * envelope.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { BlockList, Socket } from 'node:net';
import { chooseProtocol } from './choose-protocol.ts';
import { rawFailure, sendFailure } from './envelope.ts';
import {
  createExchange,
  type HttpHandler,
  hasValidAuthority,
  headerBytesOf,
  type NodeRequest,
  type NodeResponse,
  type StreamHandler,
} from './exchange.ts';
import { createHttp2Server, endUnreadStream, MAX_HEADER_BYTES, offerStreams } from './http2-server.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** PEM; without it the listener is cleartext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly trustedProxies: BlockList;
}

export interface Listener {
  readonly port: number;
  /** Begins to answer. Connections made before wait. */
  serve(handler: HttpHandler, handleStream: StreamHandler, onError: (error: unknown, requestId: string) => void): void;
  /** Takes no more connections, lets requests under way finish, and ends what is left after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

/** How long a connection may take to say what it wants, and a request to arrive. */
const ARRIVAL_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_TIMEOUT_MS = 60_000;

const HTTP1_OPTIONS = {
  headersTimeout: ARRIVAL_TIMEOUT_MS,
  requestTimeout: ARRIVAL_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
  // A missing Host is ours to answer.
  requireHostHeader: false,
} satisfies ServerOptions;

/** Binds the port. Rejects with Node's error, such as EADDRINUSE. */
export async function openListener({ host, port, tls, trustedProxies }: ListenerOptions): Promise<Listener> {
  const http2 = createHttp2Server(KEEP_ALIVE_TIMEOUT_MS);
  // The server that listens speaks HTTP/1.1; its connections go to the other where they ask for it.
  const http1: Server = tls
    ? createHttpsServer({
        ...HTTP1_OPTIONS,
        ...tls,
        ALPNProtocols: ['h2', 'http/1.1'],
        handshakeTimeout: ARRIVAL_TIMEOUT_MS,
      })
    : createHttpServer(HTTP1_OPTIONS);
  const connected = tls ? 'secureConnection' : 'connection';
  const serveHttp1 = http1.listeners(connected);
  http1.removeAllListeners(connected);

  const { promise: ready, resolve: start } = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();
  http1.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  /** Connections that have not said yet which protocol they speak. */
  const undecided = new Set<Socket>();
  http1.on(connected, async (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    undecided.add(socket);
    await ready;
    const protocol = await chooseProtocol(socket, ARRIVAL_TIMEOUT_MS);
    undecided.delete(socket);
    if (protocol === 'h2') {
      // Else a client that leaves would go unnoticed: the HTTP/1.1 server lets its sockets be half open.
      socket.allowHalfOpen = false;
      http2.server.emit('connection', socket);
    }
    if (protocol === 'http/1.1') for (const listener of serveHttp1) listener.call(http1, socket);
  });
  http1.on('tlsClientError', (_error, socket) => socket.destroy());
  http1.on('connect', (_request, socket) => socket.end(rawFailure(405, 'Method not allowed', randomUUID())));

  const active = new Set<NodeResponse>();
  let isDraining = false;
  http1.on('clientError', (error, socket: Socket) => {
    const pending = [...active].find((response) => response.socket === socket);
    // What was asked before is answered first, unless it is its body that cannot be parsed.
    if (pending?.req.complete) pending.once('close', () => socket.destroy());
    else answerUnparsable(error, socket);
  });

  http1.listen(port, host);
  await once(http1, 'listening');
  const address = http1.address();
  if (address === null || typeof address === 'string') throw new Error('The listener has no port');

  return {
    port: address.port,

    serve(handler, handleStream, onError) {
      const answer = async (request: NodeRequest, response: NodeResponse) => {
        active.add(response);
        response.once('close', () => {
          active.delete(response);
          if (isDraining) http1.closeIdleConnections();
        });
        response.on('error', () => {});
        request.on('error', () => {});
        if (isDraining && 'shouldKeepAlive' in response) response.shouldKeepAlive = false;

        const exchange = createExchange(request, response, trustedProxies);
        if ('stream' in response) endUnreadStream(response.stream);
        if (headerBytesOf(request.rawHeaders) > MAX_HEADER_BYTES) {
          return sendFailure(exchange, 431, 'Request header fields too large');
        }
        if (!hasValidAuthority(request.headers, request.rawHeaders)) return sendFailure(exchange, 400, 'Invalid host');
        try {
          await handler(exchange);
        } catch (error) {
          onError(error, exchange.requestId);
          if (!response.headersSent) sendFailure(exchange, 500, 'Internal error');
        }
      };
      http1.on('request', answer);
      http1.on('checkContinue', (request, response) => {
        response.writeContinue();
        answer(request, response);
      });
      http1.on('checkExpectation', (request, response) => {
        sendFailure(createExchange(request, response, trustedProxies), 417, 'Expectation failed');
      });
      http2.server.on('request', answer);
      offerStreams(http2.server, handleStream, trustedProxies);
      start();
    },

    async close(timeoutMs) {
      isDraining = true;
      const closed = once(http1, 'close');
      http1.close();
      for (const response of active) if ('shouldKeepAlive' in response) response.shouldKeepAlive = false;
      for (const socket of undecided) socket.destroy();
      for (const session of http2.sessions) session.close();
      const timer = setTimeout(() => {
        for (const session of http2.sessions) session.destroy();
        for (const socket of sockets) socket.destroy();
      }, timeoutMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

/** The answers Node gives without a body, in the envelope. */
function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, message]: [number, string] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request header fields too large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request timeout']
        : [400, 'Bad request'];
  socket.end(rawFailure(status, message, randomUUID()));
}
