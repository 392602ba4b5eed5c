/** Interface, "Common response envelope": the shape of every REST reply, errors included. */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpContext } from '../../http/http-context.ts';
import { sendJson } from '../../http/response.ts';

export interface Envelope {
  readonly status: boolean;
  readonly message: string;
  readonly data?: unknown;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

export function sendEnvelope(
  exchange: HttpContext,
  status: number,
  envelope: Envelope,
  headers: Record<string, string> = {},
): void {
  sendJson(exchange, status, JSON.stringify(envelope), headers);
}

export function sendFailure(
  exchange: HttpContext,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  sendEnvelope(exchange, status, { status: false, message }, headers);
}

/** An envelope as raw HTTP/1.1, for a connection whose request cannot be parsed. */
export function rawFailure(status: number, message: string, requestId: string): string {
  const json = JSON.stringify({ status: false, message } satisfies Envelope);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(json)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    json,
  ].join('\r\n');
}

/** The answers Node gives without a body, in the envelope. */
export function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
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
