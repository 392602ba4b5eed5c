/** Plain HTTP for tests: a request over HTTP/1.1 or HTTP/2, and bytes over a raw socket. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

export interface HttpRequest {
  readonly httpVersion?: '1.1' | '2';
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array | undefined;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** What `set-cookie` says, which may be there several times. */
  readonly cookies: readonly string[];
  readonly body: string;
}

export async function request(url: string, options: HttpRequest): Promise<HttpReply> {
  return options.httpVersion === '2' ? requestHttp2(url, options) : requestHttp1(url, options);
}

async function requestHttp1(url: string, { method = 'GET', path, headers, body }: HttpRequest): Promise<HttpReply> {
  const { hostname, port } = new URL(url);
  const sent = httpRequest({ hostname, port, method, path, headers, agent: false });
  // The server may reply and close before it has read everything.
  sent.on('error', () => {});
  sent.end(body);
  const [reply] = await once(sent, 'response');
  return {
    status: reply.statusCode,
    headers: reply.headers,
    cookies: reply.headers['set-cookie'] ?? [],
    body: await text(reply),
  };
}

async function requestHttp2(url: string, { method = 'GET', path, headers, body }: HttpRequest): Promise<HttpReply> {
  const session = connectHttp2(url);
  try {
    const stream = session.request({ ':method': method, ':path': path, ...headers });
    stream.end(body);
    const [head] = await once(stream, 'response');
    const { ':status': status, ...rest } = head;
    return { status, headers: rest, cookies: rest['set-cookie'] ?? [], body: await text(stream) };
  } finally {
    session.close();
  }
}

/** Sends bytes as they are and returns all that comes back until the server closes, or for ten seconds. */
export async function sendRaw(port: number, bytes: string | Uint8Array): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  socket.write(bytes);
  const timer = setTimeout(() => socket.destroy(), 10_000);
  await once(socket, 'close');
  clearTimeout(timer);
  return received;
}
