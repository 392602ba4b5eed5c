/** The half of the listener that speaks HTTP/1.1, and that connections of both come to. */
import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { answerUnparsable, rawFailure } from '../api/rest/envelope.ts';
import { type Connections, PATIENCE_MS, SWEEP_MS } from './connections.ts';
import { MAX_HEADER_BYTES, requestIdOf } from './http-context.ts';

/** PEM. */
export interface TlsOptions {
  readonly cert: string;
  readonly key: string;
}

export interface Http1Side {
  readonly server: Server;
  /** The server's event that brings a connection as soon as it can be told which protocol it speaks. */
  readonly connected: 'connection' | 'secureConnection';
  /** Takes over a connection that speaks HTTP/1.1. */
  accept(socket: Socket): void;
}

/** How long a client of TLS may take to say so. */
const HANDSHAKE_TIMEOUT_MS = 5_000;

const OPTIONS = {
  headersTimeout: PATIENCE_MS,
  requestTimeout: PATIENCE_MS,
  connectionsCheckingInterval: SWEEP_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
  // A missing Host is ours to answer.
  requireHostHeader: false,
} satisfies ServerOptions;

/** A server that listens, and takes none of its connections by itself. */
export function createHttp1Server(tls: TlsOptions | undefined, connections: Connections): Http1Side {
  const server: Server = tls
    ? createHttpsServer({
        ...OPTIONS,
        ...tls,
        ALPNProtocols: ['h2', 'http/1.1'],
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      })
    : createHttpServer(OPTIONS);
  const connected = tls ? 'secureConnection' : 'connection';
  const listeners = server.listeners(connected);
  server.removeAllListeners(connected);
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on('connect', ({ headers }, socket) =>
    socket.end(rawFailure(405, 'Method not allowed', requestIdOf(headers))),
  );
  server.on('clientError', (error, socket: Socket) => {
    const connection = connections.of(socket);
    const pending = connection?.replies[0];
    // What was asked before is answered first, unless it is its body that cannot be parsed.
    if (pending?.req.complete) pending.once('close', () => socket.destroy());
    // A second reply to one request would be taken for that to the next.
    else if (pending?.headersSent || connection?.isAnsweredEarly) socket.destroy();
    else answerUnparsable(error, socket);
  });
  return {
    server,
    connected,
    accept(socket) {
      for (const listener of listeners) listener.call(server, socket);
    },
  };
}
