/** The endpoint of a client for back-channel logout. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { decodeJwt } from 'jose';

export interface LogoutRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

export class LogoutReceiver implements AsyncDisposable {
  readonly requests: LogoutRequest[] = [];
  /** What it answers with. */
  status = 200;
  readonly url: string;
  readonly #server: Server;
  readonly #arrivals: EventEmitter;

  private constructor(server: Server, arrivals: EventEmitter) {
    this.#server = server;
    this.#arrivals = arrivals;
    // A TCP server has an AddressInfo.
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/backchannel-logout`;
  }

  static async start(): Promise<LogoutReceiver> {
    const arrivals = new EventEmitter();
    const server = createServer(async (request, response) => {
      const form = new URLSearchParams(await text(request));
      receiver.requests.push({ method: request.method ?? '', headers: request.headers, form });
      response.writeHead(receiver.status, { 'cache-control': 'no-store' }).end();
      arrivals.emit('request');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const receiver = new LogoutReceiver(server, arrivals);
    return receiver;
  }

  /** Returns the first request whose token has these claims, waiting for it if it has not come. */
  async find(claims: Readonly<Record<string, unknown>>): Promise<LogoutRequest> {
    for (;;) {
      const found = this.requests.find(({ form }) => {
        const token = form.get('logout_token');
        if (token === null) return false;
        const payload: Record<string, unknown> = decodeJwt(token);
        return Object.entries(claims).every(([name, value]) => payload[name] === value);
      });
      if (found) return found;
      await once(this.#arrivals, 'request');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
