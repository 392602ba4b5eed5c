/** Answers HTTP/1.1 requests for which Node creates no response object, such as requests that cannot be parsed. */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { HTTP_ERRORS, type HttpErrorReason, type RenderError } from './errors.ts';
import { commonHeadersOf } from './exchange.ts';

/** Writes the response to the socket, and closes it. */
export function sendRawError(
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
export function answerUnparsableRequest(error: NodeJS.ErrnoException, socket: Socket, renderError: RenderError): void {
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
