/**
 * One port for HTTP/1.1 and HTTP/2: by ALPN over TLS, by the first bytes in cleartext. Nothing a
 * client sends here ends the process, and what Node would answer by itself is answered in the
 * envelope.
 */
import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { type BlockList, Server as NetServer, type Socket } from 'node:net';
import { sendFailure } from '../api/rest/envelope.ts';
import { Connections, SWEEP_MS } from './connections.ts';
import { chooseProtocol } from './detect-protocol.ts';
import {
  createHttpContext,
  type HttpContext,
  type HttpHandler,
  hasValidAuthority,
  headerBytesOf,
  MAX_HEADER_BYTES,
  type NodeRequest,
  type NodeResponse,
  type StreamHandler,
} from './http-context.ts';
import { createHttp1Server, type TlsOptions } from './http1-server.ts';
import { createHttp2Server, endUnreadStream, offerStreams } from './http2-server.ts';
import { RequestScheduler } from './request-scheduler.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Without it the listener is cleartext. */
  readonly tls: TlsOptions | undefined;
  readonly trustedProxies: BlockList;
}

export interface Listener {
  readonly port: number;
  /** Begins to answer. Connections made before wait. */
  serve(handler: HttpHandler, handleStream: StreamHandler, onError: (error: unknown, requestId: string) => void): void;
  /** Takes no more connections, lets requests under way finish, and ends what is left after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

/** How many connections may wait to be accepted; one that comes on top of them waits for seconds, and then for more. */
const BACKLOG = 4_096;

/** How long requests that were sent before their client knew that we are closing may take to get here. */
const CLOSING_GRACE_MS = 500;

/** Binds the port. Rejects with Node's error, such as EADDRINUSE. */
export async function openListener({ host, port, tls, trustedProxies }: ListenerOptions): Promise<Listener> {
  const connections = new Connections();
  const { server: http1, connected, accept: acceptHttp1 } = createHttp1Server(tls, connections);
  const http2 = createHttp2Server();

  const { promise: ready, resolve: start } = Promise.withResolvers<void>();
  const turns = new RequestScheduler();
  const sockets = new Set<Socket>();
  http1.on('connection', (socket: Socket) => {
    turns.yieldToAccept();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const sweep = () => {
    http1.keepAliveTimeout = connections.sweep();
  };
  sweep();
  const sweeping = setInterval(sweep, SWEEP_MS).unref();
  /** Connections that have not said yet which protocol they speak. */
  const undecided = new Set<Socket>();
  http1.on(connected, async (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    undecided.add(socket);
    await ready;
    if (socket.destroyed) return void undecided.delete(socket);
    const connection = connections.add(socket);
    const protocol = await chooseProtocol(socket);
    undecided.delete(socket);
    if (protocol === 'h2') http2.accept(socket, connection);
    if (protocol === 'http/1.1') acceptHttp1(socket);
  });

  let isDraining = false;
  http2.server.on('session', (session) => {
    if (isDraining) session.close();
  });

  http1.listen({ port, host, backlog: BACKLOG });
  await once(http1, 'listening');
  const address = http1.address();
  if (address === null || typeof address === 'string') throw new Error('The listener has no port');

  return {
    port: address.port,

    serve(handler, handleStream, onError) {
      const begin = (request: NodeRequest, response: NodeResponse): HttpContext | undefined => {
        response.on('error', () => {});
        request.on('error', () => {});
        if (!(response instanceof ServerResponse)) endUnreadStream(response.stream);
        else if (!connections.begin(request.socket, response)) return undefined;
        else if (isDraining) response.shouldKeepAlive = false;
        const receivedAt = 'stream' in response ? http2.arrivals.get(response.stream) : undefined;
        return createHttpContext(request, response, { trustedProxies, receivedAt: receivedAt ?? performance.now() });
      };
      const answer = (request: NodeRequest, response: NodeResponse) => {
        const exchange = begin(request, response);
        if (!exchange) return;
        const connection = connections.of(request.socket);
        // One over HTTP/2 has waited for its turn as a stream.
        if (!connection) return void handle(exchange);
        turns.take(() => {
          if (!request.socket.destroyed) handle(exchange);
        }, connection);
      };
      const handle = async (exchange: HttpContext) => {
        const { request, response } = exchange;
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
      const refuse = (status: number, message: string) => (request: NodeRequest, response: NodeResponse) => {
        const exchange = begin(request, response);
        if (exchange) sendFailure(exchange, status, message);
      };
      for (const server of [http1, http2.server]) {
        server.on('request', answer);
        server.on('checkContinue', (request: NodeRequest, response: NodeResponse) => {
          response.writeContinue();
          answer(request, response);
        });
        server.on('checkExpectation', refuse(417, 'Expectation failed'));
      }
      http2.server.on('connect', refuse(405, 'Method not allowed'));
      offerStreams(http2, handleStream, { turns, trustedProxies });
      start();
    },

    async close(timeoutMs) {
      isDraining = true;
      const closed = once(http1, 'close');
      // The server's own `close` would end idle connections too, with requests that are on their way.
      NetServer.prototype.close.call(http1);
      for (const { replies } of connections) for (const reply of replies) reply.shouldKeepAlive = false;
      for (const session of http2.sessions.keys()) session.close();
      const grace = setTimeout(() => {
        const closeIdle = () => http1.closeIdleConnections();
        closeIdle();
        for (const { replies } of connections) for (const reply of replies) reply.once('close', closeIdle);
        for (const socket of undecided) socket.destroy();
      }, CLOSING_GRACE_MS);
      const timer = setTimeout(() => {
        for (const session of http2.sessions.keys()) session.destroy();
        for (const socket of sockets) socket.destroy();
      }, timeoutMs);
      await closed;
      clearTimeout(grace);
      clearTimeout(timer);
      clearInterval(sweeping);
      // Ends its timers as well.
      http1.close();
    },
  };
}
