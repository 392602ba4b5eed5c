/** The HTTP/1.1 server, which accepts the connections of both protocols. */

import { randomUUID } from 'node:crypto';
import {
  createServer as createHttpServer,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { CLIENT_TIMEOUT_MS, type HttpConnections, SWEEP_INTERVAL_MS } from './connections.ts';
import { HTTP_ERRORS, type HttpErrorReason, type RenderError } from './errors.ts';
import { commonHeadersOf } from './exchange.ts';
import { MAX_HEADER_BYTES, requestIdOf } from './request-head.ts';
import { type Certificate, toSecureContext } from './tls.ts';

const HANDSHAKE_TIMEOUT_MS = 5_000;
/** Clients are told a timeout that is shorter by this, so that they do not send a request while Usher closes. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

const OPTIONS = {
  headersTimeout: CLIENT_TIMEOUT_MS,
  requestTimeout: CLIENT_TIMEOUT_MS,
  connectionsCheckingInterval: SWEEP_INTERVAL_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
  // `findHeadProblem` checks the Host header.
  requireHostHeader: false,
  keepAliveTimeoutBuffer: KEEP_ALIVE_MARGIN_MS,
} satisfies ServerOptions;

interface Http1Options {
  readonly tls: Certificate | undefined;
  readonly keepAliveTimeoutMs: number;
  readonly renderError: RenderError;
}

/** Creates a server that parses HTTP only on the connections that `accept` gets. */
export function createHttp1Server(
  { tls, keepAliveTimeoutMs, renderError }: Http1Options,
  connections: HttpConnections,
) {
  const options = { ...OPTIONS, keepAliveTimeout: keepAliveTimeoutMs - KEEP_ALIVE_MARGIN_MS };
  const secured =
    tls &&
    createHttpsServer({
      ...options,
      ...toSecureContext(tls),
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    });
  const server: Server = secured ?? createHttpServer(options);
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
    if (isTimeout(error) && connection?.hasLongBody) return;
    const responses = connection?.responses ?? [];
    // The unparsable bytes are either in the body of the latest request or after it.
    const cut = responses.findLast(({ req }) => !req.complete);
    const earlier = responses.findLast((response) => response !== cut);
    // The client would take a second response to this request for the response to its next request.
    if (cut?.headersSent || connection?.isAnsweredEarly) socket.destroy();
    else answerAfter(earlier, () => answerUnparsableRequest(error, socket, renderError));
  });
  return {
    server,
    /** The event of a connection that is ready for HTTP: over TLS, the handshake is complete. */
    connectionEvent,
    /** Applies to new connections. @throws if the certificate is malformed */
    setCertificate: (certificate: Certificate) => secured?.setSecureContext(toSecureContext(certificate)),
    /** Begins to serve HTTP/1.1 on a connection. */
    accept(socket: Socket) {
      for (const listener of listeners) listener.call(server, socket);
    },
  };
}

/** Answers after the response to an earlier request, because clients match responses to requests by their order. */
function answerAfter(earlier: ServerResponse | undefined, answer: () => void): void {
  if (earlier) earlier.once('close', answer);
  else answer();
}

/** Node ends no request whose timeout it has reported once. */
function isTimeout(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
}

/**
 * Answers a request for which Node creates no response object, such as one that cannot be parsed: writes the response to
 * the socket, and closes it.
 */
function sendRawError(
  socket: Duplex,
  reason: HttpErrorReason,
  renderError: RenderError,
  requestId: string = randomUUID(),
): void {
  const [status] = HTTP_ERRORS[reason];
  const body = renderError(reason);
  const headers = {
    ...commonHeadersOf(requestId, socket instanceof TLSSocket),
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
}

/** Answers an error of Node's parser with Usher's error body. */
function answerUnparsableRequest(error: NodeJS.ErrnoException, socket: Socket, renderError: RenderError): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  sendRawError(socket, REASONS[error.code ?? ''] ?? 'BAD_REQUEST', renderError);
}

const REASONS: Readonly<Record<string, HttpErrorReason>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};
