import { text } from 'node:stream/consumers';
import { MailServer } from '../../../support/mail-server.ts';

/** Receives the codes of all servers over SMTP. */
export class Inbox {
  readonly url: string;
  readonly #waiting: Map<string, (code: string) => void>;

  private constructor(url: string, waiting: Map<string, (code: string) => void>) {
    this.url = url;
    this.#waiting = waiting;
  }

  static async open(stack: AsyncDisposableStack): Promise<Inbox> {
    const waiting = new Map<string, (code: string) => void>();
    const server = await MailServer.start({
      onData: async (stream, { envelope }, done) => {
        const code = /^Subject: (\d{6,8}) /m.exec(await text(stream))?.[1];
        if (code) for (const { address } of envelope.rcptTo) waiting.get(address)?.(code);
        done();
      },
    });
    stack.use(server);
    return new Inbox(server.url, waiting);
  }

  /** Resolves to the next code that is sent to the address. */
  async receive(email: string): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#waiting.set(email, resolve);
    return promise.finally(() => this.#waiting.delete(email));
  }
}
