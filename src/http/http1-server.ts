/** The HTTP/1.1 server. It accepts the connections of both protocols. */
import { createServer as createHttpServer, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { CLIENT_TIMEOUT_MS, type Connections, SWEEP_INTERVAL_MS } from './connections.ts';
import type { RenderError } from './errors.ts';
import { requestIdOf } from './http-context.ts';
import { answerUnparsableRequest, sendRawError } from './raw-error.ts';
import { type Certificate, toSecureContext } from './tls.ts';
import { MAX_HEADER_BYTES } from './validate-head.ts';

const HANDSHAKE_TIMEOUT_MS = 5_000;

const OPTIONS = {
  headersTimeout: CLIENT_TIMEOUT_MS,
  requestTimeout: CLIENT_TIMEOUT_MS,
  connectionsCheckingInterval: SWEEP_INTERVAL_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
  // We answer a missing Host ourselves.
  requireHostHeader: false,
} satisfies ServerOptions;

/** Creates a server that hands none of its connections to HTTP/1.1 before `accept`. */
export function createHttp1Server(tls: Certificate | undefined, connections: Connections, renderError: RenderError) {
  const secured =
    tls &&
    createHttpsServer({
      ...OPTIONS,
      ...toSecureContext(tls),
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    });
  const server: Server = secured ?? createHttpServer(OPTIONS);
  const connectionEvent = tls ? 'secureConnection' : 'connection';
  const listeners = server.listeners(connectionEvent);
  server.removeAllListeners(connectionEvent);
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on('connect', ({ headers }, socket: Socket) => {
    const earlier = connections.of(socket)?.responses.at(-1);
    answerAfter(earlier, () => sendRawError(socket, 'METHOD_NOT_ALLOWED', renderError, requestIdOf(headers)));
  });
  server.on('clientError', (error, socket: Socket) => {
    const connection = connections.of(socket);
    const responses = connection?.responses ?? [];
    // What cannot be parsed is the body of the latest request, or follows it.
    const cut = responses.findLast(({ req }) => !req.complete);
    const earlier = responses.findLast((response) => response !== cut);
    // The client would take a second response to one request for that to its next.
    if (cut?.headersSent || connection?.isAnsweredEarly) socket.destroy();
    else answerAfter(earlier, () => answerUnparsableRequest(error, socket, renderError));
  });
  return {
    server,
    /** The event of the server that brings a connection whose protocol can be detected. */
    connectionEvent,
    /** New connections use the certificate. @throws if it is malformed */
    setCertificate: (certificate: Certificate) => secured?.setSecureContext(toSecureContext(certificate)),
    /** Takes over a connection that speaks HTTP/1.1. */
    accept(socket: Socket) {
      for (const listener of listeners) listener.call(server, socket);
    },
  };
}

/** Answers when the earlier request has been answered, if there is one. */
function answerAfter(earlier: ServerResponse | undefined, answer: () => void): void {
  if (earlier) earlier.once('close', answer);
  else answer();
}
