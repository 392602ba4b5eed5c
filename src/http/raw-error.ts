/** Errors of HTTP/1.1 that are answered without a request object, because the request cannot be parsed. */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

/** Returns the JSON body of an error. */
export type RenderError = (message: string) => string;

/** Returns a whole response as text, after which the connection is closed. */
export function formatRawError(status: number, body: string, requestId: string): string {
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
  const [status, message] = ANSWERS[error.code ?? ''] ?? [400, 'Bad request'];
  socket.end(formatRawError(status, renderError(message), randomUUID()));
}

const ANSWERS: Readonly<Record<string, [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request header fields too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request timeout'],
};
