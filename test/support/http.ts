/** HTTP clients: one request, one connection that is kept and a pool of them. */
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type HttpReply, openHttp2Session, readReply } from './http2-session.ts';

export type { HttpReply } from './http2-session.ts';

export type HttpVersion = '1.1' | '2';

export interface HttpRequest {
  /** 1.1 where it is not given. A client of one connection has its own. */
  readonly httpVersion?: HttpVersion;
  /** POST with a body, GET without, where it is not given. */
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array | undefined;
  /** Sends the head only and waits for the reply to it. */
  readonly isBodyPending?: boolean;
}

/** One connection, so that a test sees whether a request has harmed it. */
export interface HttpClient extends Disposable {
  send(request: HttpRequest): Promise<HttpReply>;
}

/** Sends the request over a connection of its own. */
export async function request(url: string, { httpVersion = '1.1', ...options }: HttpRequest): Promise<HttpReply> {
  using client = httpVersion === '2' ? openHttp2Client(url) : openHttp1Client(url, { keepAlive: false });
  return await client.send(options);
}

export function openHttpClient(url: string, { httpVersion }: { readonly httpVersion: HttpVersion }): HttpClient {
  return httpVersion === '2' ? openHttp2Client(url) : openHttp1Client(url, { keepAlive: true });
}

function openHttp2Client(url: string): HttpClient {
  const session = openHttp2Session(url);
  return {
    send({ path, headers, body, method = body === undefined ? 'GET' : 'POST', isBodyPending = false }) {
      const head = { ':method': method, ':path': path, ...headers };
      return isBodyPending ? readReply(session.open(head)) : session.exchange(head, body);
    },
    [Symbol.dispose]: session[Symbol.dispose],
  };
}

function openHttp1Client(url: string, { keepAlive = true, maxSockets = 1 }): HttpClient {
  const agent = new Agent({ keepAlive, maxSockets });
  return {
    async send({ path, headers, body, method = body === undefined ? 'GET' : 'POST', isBodyPending = false }) {
      const { hostname, port } = new URL(url);
      const length = isBodyPending ? { 'content-length': '100' } : {};
      const sent = httpRequest({ agent, hostname, port, method, path, headers: { ...length, ...headers } });
      if (isBodyPending) sent.flushHeaders();
      else sent.end(body);
      const [reply] = await once(sent, 'response');
      // A server that refuses a body may close before it has read it; the reply has come by then.
      sent.on('error', () => {});
      const bytes = await buffer(reply);
      if (isBodyPending) sent.destroy();
      return {
        status: reply.statusCode,
        headers: reply.headers,
        cookies: reply.headers['set-cookie'] ?? [],
        body: bytes.toString(),
        bytes,
        trailers: reply.trailers,
      };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

export interface JsonReply<Body> {
  readonly status: number;
  readonly body: Body;
}

/** JSON over HTTP/1.1 on connections that are kept: for tests that make thousands of calls. */
export class HttpPool implements Disposable {
  readonly #client: HttpClient;
  readonly #headers: Record<string, string>;

  constructor({ url }: { url: string }, headers: Record<string, string>, { connections = 16 } = {}) {
    this.#client = openHttp1Client(url, { maxSockets: connections });
    this.#headers = { 'content-type': 'application/json', ...headers };
  }

  /** The reply's JSON is taken to be what the test expects of it. */
  async call<Body>(method: string, path: string, body?: unknown): Promise<JsonReply<Body>> {
    const { status, body: json } = await this.exchange<Body>(method, path, body);
    return { status, body: json };
  }

  /** `call`, with the headers of the reply. */
  async exchange<Body>(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<JsonReply<Body> & Pick<HttpReply, 'headers'>> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const reply = await this.#client.send({ method, path, headers: this.#headers, body: text });
    return { status: reply.status, headers: reply.headers, body: JSON.parse(reply.body) };
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]();
  }
}
