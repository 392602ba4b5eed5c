/** Requests over one HTTP/2 connection, with any headers, and whole replies with their trailers. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Each `set-cookie`. */
  readonly cookies: readonly string[];
  readonly body: string;
  readonly bytes: Buffer;
  readonly trailers: Readonly<Record<string, string>>;
}

/** How long to wait for a reply, and for the end of a stream. */
const TIMEOUT_MS = 120_000;

export interface Http2Session extends Disposable {
  readonly session: ClientHttp2Session;
  /** Sends a request and ends it. */
  exchange(headers: Record<string, string>, body?: string | Uint8Array): Promise<HttpReply>;
  /** Begins a request; the test writes and ends it. */
  open(headers: Record<string, string>, options?: { readonly endStream?: boolean }): ClientHttp2Stream;
}

/** Over the given connection, or over a new one in cleartext. */
export function openHttp2Session(url: string, given?: Duplex): Http2Session {
  const { hostname: host, port } = new URL(url);
  const socket = given ?? connectSocket({ host, port: Number(port), noDelay: true });
  // Behind a stream, so that the socket stays the test's own to end: a session keeps one open that it has writes for.
  const session = connect(url, { createConnection: () => Duplex.from({ readable: socket, writable: socket }) });
  session.on('error', () => {});
  const open = (headers: Record<string, string>, { endStream = false } = {}) => {
    const stream = session.request({ ':method': 'GET', ...headers }, { endStream });
    stream.on('error', () => {});
    return stream;
  };
  return {
    session,
    open,
    async exchange(headers, body) {
      // A request without a body ends with its headers, as most clients send it.
      const stream = open(headers, { endStream: !body?.length });
      if (body?.length) stream.end(body);
      return readReply(stream);
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** Rejects when the stream ends without a whole reply. */
export async function readReply(stream: ClientHttp2Stream, { timeoutMs = TIMEOUT_MS } = {}): Promise<HttpReply> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpReply>();
  const trailers: Record<string, string> = {};
  const chunks: Buffer[] = [];
  let head: IncomingHttpHeaders | undefined;
  const finish = () => {
    if (!head || stream.rstCode !== 0) return reject(new Error(`No reply, but code ${stream.rstCode}`));
    const { ':status': status, ...headers } = toRecord(head);
    const cookies = head['set-cookie'] ?? [];
    const bytes = Buffer.concat(chunks);
    resolve({ status: Number(status), headers, cookies, body: bytes.toString(), bytes, trailers });
  };
  const timer = setTimeout(() => reject(new Error(`No reply in ${timeoutMs} ms`)), timeoutMs);
  stream.on('response', (headers) => {
    head = headers;
  });
  stream.on('trailers', (fields) => Object.assign(trailers, toRecord(fields)));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A server that answers early may close the stream, without an error, before the request has ended.
  stream.once('end', finish).once('close', finish).once('error', reject);
  return promise.finally(() => clearTimeout(timer));
}

/** Resolves when the server has ended the stream, the test's own side included; rejects when it has not. */
export async function ended(stream: ClientHttp2Stream): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  // There is no event to wait for: 'close' also waits for writes, which the server does not take any more.
  while (!stream.closed) {
    if (performance.now() > deadline) throw new Error('The stream stays open');
    await sleep(10);
  }
}

function toRecord(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
