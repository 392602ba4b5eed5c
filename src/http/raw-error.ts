/** Errors of HTTP/1.1 that are answered without a request object, because the request cannot be parsed. */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { HTTP_ERRORS, type HttpErrorReason, type RenderError } from './errors.ts';

/** Returns a whole response as text, after which the connection is closed. */
export function formatRawError(reason: HttpErrorReason, renderError: RenderError, requestId: string): string {
  const [status] = HTTP_ERRORS[reason];
  const body = renderError(reason);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

/** Answers what Node would answer without a body. */
export function answerUnparsableRequest(error: NodeJS.ErrnoException, socket: Socket, renderError: RenderError): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  socket.end(formatRawError(REASONS[error.code ?? ''] ?? 'BAD_REQUEST', renderError, randomUUID()));
}

const REASONS: Readonly<Record<string, HttpErrorReason>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};
