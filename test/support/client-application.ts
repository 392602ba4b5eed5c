/** A small client application: a page that starts a login, and the callback that finishes it. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from './http.ts';
import type { Tenant } from './service.ts';

/** The redirect URI to register. It matches any port. */
export const CALLBACK = 'http://127.0.0.1/callback';

export interface ClientOptions {
  /** Where the application finds Usher. */
  readonly url: string;
  /** The `iss` that it accepts. */
  readonly issuer: string;
  readonly tenant: Tenant;
}

export class ClientApplication implements AsyncDisposable {
  /** The target of each request to the callback. */
  readonly callbacks: string[] = [];
  readonly #server: Server;
  readonly #options: ClientOptions;

  private constructor(server: Server, options: ClientOptions) {
    this.#server = server;
    this.#options = options;
    server.on('request', async (incoming, response) => {
      const { pathname, searchParams } = new URL(incoming.url ?? '', this.url);
      if (pathname === '/callback') this.callbacks.push(incoming.url ?? '');
      const answer =
        pathname === '/'
          ? this.#begin(response)
          : pathname === '/callback'
            ? this.#finish(incoming, response, searchParams)
            : show(response, 404, 'Not found', pathname);
      await Promise.resolve(answer).catch((error) => show(response, 500, 'Failed', String(error)));
    });
  }

  static async start(options: ClientOptions): Promise<ClientApplication> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ClientApplication(server, options);
  }

  get url(): string {
    // A TCP server has an AddressInfo.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  readonly [Symbol.asyncDispose] = async () => {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  };

  /** Requests an authentication URL, stores the state in a cookie, and redirects the browser. */
  async #begin(response: ServerResponse): Promise<void> {
    const state = randomBytes(16).toString('hex');
    const { clientId } = this.#options.tenant;
    const { data } = await this.#call(`/api/oauth/generate-auth-url?clientId=${clientId}`, {
      redirectUri: new URL('/callback', this.url).href,
      state,
    });
    const cookie = `state=${state}; Path=/; HttpOnly; SameSite=Lax`;
    response.writeHead(302, { location: data?.authUrl ?? '', 'set-cookie': cookie }).end();
  }

  /** Checks state and issuer, exchanges the token, and shows the result. */
  async #finish(incoming: IncomingMessage, response: ServerResponse, answer: URLSearchParams): Promise<void> {
    const state = answer.get('state');
    if (!state || !incoming.headers.cookie?.split('; ').includes(`state=${state}`)) {
      return show(response, 400, 'Another state', state);
    }
    if (answer.get('iss') !== this.#options.issuer) return show(response, 400, 'Another issuer', answer.get('iss'));
    if (answer.has('error')) return show(response, 200, 'Not signed in', answer.get('error'));
    const reply = await this.#call('/api/oauth/exchange', { authToken: answer.get('authToken') });
    show(response, 200, reply.status ? 'Signed in' : 'Refused', reply.status ? reply.data : reply);
  }

  async #call(path: string, body: unknown): Promise<{ status: boolean; data?: { authUrl?: string } }> {
    const { url, tenant } = this.#options;
    const headers = { 'x-api-key': tenant.apiKey, 'content-type': 'application/json' };
    const reply = await request(url, { method: 'POST', path, headers, body: JSON.stringify(body) });
    return JSON.parse(reply.body);
  }
}

function show(response: ServerResponse, status: number, title: string, details: unknown): void {
  const json = JSON.stringify(details).replaceAll('<', '\\u003c');
  response
    .writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .end(`<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1><pre>${json}</pre></html>`);
}
