import { ServerResponse } from 'node:http';
import type { HttpContext, NodeRequest } from './http-context.ts';

/** How long, and for how many bytes, we read on after a reply that came before the request was over. */
const LINGER_MS = 1_000;
const LINGER_BYTES = 1_048_576;
/** Of a body that nobody reads; with more of it to come, a connection is not worth keeping. */
const MAX_UNREAD_BYTES = 65_536;

/** Sends JSON as it is. `headers`, in lower case, override ours. */
export function sendJson(
  exchange: HttpContext,
  status: number,
  json: string,
  headers: Record<string, string> = {},
): void {
  send(exchange, status, json, { 'content-type': 'application/json', ...headers });
}

/** Sends the whole reply, and closes the connection after it where it must be. */
export function send(
  exchange: HttpContext,
  status: number,
  body: string | Uint8Array,
  headers: Record<string, string>,
): void {
  const { request, response } = exchange;
  const isLast = mustClose(exchange);
  const head: HeadWriter = response;
  head.writeHead(status, {
    ...commonHeadersOf(exchange),
    'content-length': Buffer.byteLength(body),
    ...headers,
    ...(isLast && { connection: 'close' }),
  });
  const shown = request.method === 'HEAD' ? '' : body;
  if (isLast && response instanceof ServerResponse) endWhenRead(request, response, shown);
  else response.end(shown);
}

/** What the two kinds of response have in common. */
interface HeadWriter {
  writeHead(status: number, headers: Record<string, string | number>): unknown;
}

/** For a reply that somebody else sends. */
export function setCommonHeaders(exchange: HttpContext): void {
  for (const [name, value] of Object.entries(commonHeadersOf(exchange))) exchange.response.setHeader(name, value);
}

function commonHeadersOf({ requestId }: HttpContext) {
  return { 'x-request-id': requestId, 'cache-control': 'no-store' };
}

/** Whether so much of a request over HTTP/1.1 is still to come that its connection is not worth keeping. */
export function mustClose({ request, response }: HttpContext): boolean {
  if (request.complete || !(response instanceof ServerResponse)) return false;
  return (
    request.headers['transfer-encoding'] !== undefined ||
    Number(request.headers['content-length'] ?? 0) > MAX_UNREAD_BYTES
  );
}

/** Reads on for a while: to close while the client still sends resets the connection and may lose the reply. */
function endWhenRead(request: NodeRequest, response: ServerResponse, body: string | Uint8Array): void {
  response.write(body);
  let read = 0;
  const end = () => void response.end();
  const timer = setTimeout(end, LINGER_MS);
  request.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read > LINGER_BYTES) end();
  });
  request.once('end', end);
  request.once('error', end);
  response.once('close', () => clearTimeout(timer));
  request.resume();
}
