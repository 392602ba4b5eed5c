import { type HttpReply, type HttpRequest, openHttpClient } from '../../../support/http.ts';

/** The server under test over one connection, and a browser that keeps cookies. */
export class Client implements Disposable {
  readonly #http;
  readonly #cookies = new Map<string, string>();

  constructor(url: string) {
    this.#http = openHttpClient(url, { httpVersion: '1.1' });
  }

  /** @throws Error for a status other than `status` */
  async send(sent: HttpRequest, status = 200): Promise<HttpReply> {
    const reply = await this.#http.send(sent);
    if (reply.status === status) return reply;
    throw new Error(`${sent.path}: status ${reply.status}: ${reply.body.slice(0, 200)}`);
  }

  /** `send` with the cookies that the server has set. */
  async browse({ headers, ...sent }: HttpRequest, status?: number): Promise<HttpReply> {
    const reply = await this.send({ ...sent, headers: { ...headers, cookie: this.cookie } }, status);
    for (const cookie of reply.cookies) {
      const [pair = ''] = cookie.split(';');
      this.#cookies.set(pair.slice(0, pair.indexOf('=')), pair);
    }
    return reply;
  }

  get cookie(): string {
    return [...this.#cookies.values()].join('; ');
  }

  /** Becomes another browser on the same connection. */
  forgetCookies(): void {
    this.#cookies.clear();
  }

  [Symbol.dispose](): void {
    this.#http[Symbol.dispose]();
  }
}
