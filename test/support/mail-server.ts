/** Where e-mails go in tests: a mailbox in place of SMTP, an SMTP server, and servers that misbehave. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { LoginCode } from '../../src/domain/login/create-login-code.ts';
import type { DeliverCode } from '../../src/login-page/mailer.ts';

/** Receives the codes of a service without SMTP: `startTestService({ deliver: mailbox.deliver })`. */
export class Mailbox {
  /** The oldest first. */
  readonly codes: LoginCode[] = [];

  readonly deliver: DeliverCode = async (code) => {
    this.codes.push(code);
  };

  /** Returns the codes that were sent to the address. */
  sentTo(email: string): LoginCode[] {
    return this.codes.filter((code) => code.email === email);
  }

  /** Returns the last code that was sent to the address. */
  codeFor(email: string): string {
    const last = this.sentTo(email).at(-1);
    if (!last) throw new Error(`No code for ${email}`);
    return last.code;
  }
}

/** Returns six digits that are not the code. */
export function wrongCode(code: string, difference = 1): string {
  return String((Number(code) + difference) % 1_000_000).padStart(6, '0');
}

export interface ReceivedEmail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  /** The SMTP user who sent it. */
  readonly user: string | undefined;
}

/** Accepts every e-mail over SMTP and keeps it. */
export class MailServer implements AsyncDisposable {
  readonly emails: ReceivedEmail[] = [];
  readonly #server: SMTPServer;

  private constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      authOptional: true,
      allowInsecureAuth: true,
      disabledCommands: ['STARTTLS'],
      onData: async (stream, { envelope, user }, done) => {
        const raw = await text(stream);
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        this.emails.push({ from, to: envelope.rcptTo.map(({ address }) => address), raw, user });
        done();
      },
      ...options,
    });
    this.#server.on('error', () => {});
  }

  static async start(options: SMTPServerOptions = {}): Promise<MailServer> {
    const server = new MailServer(options);
    await listen(server.#server.server);
    return server;
  }

  get port(): number {
    return portOf(this.#server.server);
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(resolve));
  }
}

/** Accepts TCP connections and does with each what the test says. */
export class SocketServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(handle: (socket: Socket) => void) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
      handle(socket);
    });
  }

  static async start(handle: (socket: Socket) => void): Promise<SocketServer> {
    const server = new SocketServer(handle);
    await listen(server.#server);
    return server;
  }

  get port(): number {
    return portOf(this.#server);
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** Sends 100 MB in one line, as fast as the peer reads. */
export function flood(socket: Socket): void {
  const chunk = Buffer.alloc(65_536, 'x');
  let sent = 0;
  const pour = () => {
    while (!socket.destroyed && sent < 100_000_000) {
      sent += chunk.length;
      if (!socket.write(chunk)) {
        socket.once('drain', pour);
        return;
      }
    }
    socket.end();
  };
  pour();
}

async function listen(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

function portOf(server: Server): number {
  // A TCP server has an AddressInfo.
  return (server.address() as AddressInfo).port;
}
