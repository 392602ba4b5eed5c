/** JSON over HTTP/1.1 on connections that are kept: for tests that make thousands of calls. */
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface JsonReply<Body> {
  readonly status: number;
  readonly body: Body;
}

interface WithHeaders {
  readonly headers: IncomingHttpHeaders;
}

export class HttpPool implements Disposable {
  readonly #agent: Agent;
  readonly #url: URL;
  readonly #headers: Record<string, string>;

  constructor({ url }: { url: string }, headers: Record<string, string>, { connections = 16 } = {}) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
    this.#url = new URL(url);
    this.#headers = { 'content-type': 'application/json', ...headers };
  }

  /** The reply's JSON is taken to be what the test expects of it. */
  async call<Body>(method: string, path: string, body?: unknown): Promise<JsonReply<Body>> {
    const { status, body: json } = await this.exchange<Body>(method, path, body);
    return { status, body: json };
  }

  /** `call`, with the headers of the reply. */
  async exchange<Body>(method: string, path: string, body?: unknown): Promise<JsonReply<Body> & WithHeaders> {
    const { hostname, port } = this.#url;
    const sent = request({ agent: this.#agent, hostname, port, method, path, headers: this.#headers });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [reply] = await once(sent, 'response');
    return { status: reply.statusCode, headers: reply.headers, body: JSON.parse(await text(reply)) };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
