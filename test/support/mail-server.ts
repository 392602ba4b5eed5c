/** A mail server that takes all letters, and servers that are none. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface Letter {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  /** Who has sent it, by the user name. */
  readonly user: string | undefined;
}

/** Keeps what it is sent. */
export class MailServer implements AsyncDisposable {
  readonly letters: Letter[] = [];
  readonly #server: SMTPServer;

  private constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      authOptional: true,
      allowInsecureAuth: true,
      disabledCommands: ['STARTTLS'],
      onData: async (stream, { envelope, user }, done) => {
        const raw = await text(stream);
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        this.letters.push({ from, to: envelope.rcptTo.map(({ address }) => address), raw, user });
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

/** Something that takes connections and treats them as it likes. */
export class RudeServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(treat: (socket: Socket) => void) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
      treat(socket);
    });
  }

  static async start(treat: (socket: Socket) => void): Promise<RudeServer> {
    const server = new RudeServer(treat);
    await listen(server.#server);
    return server;
  }

  get port(): number {
    return portOf(this.#server);
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Nobody listens there any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** 100 MB of one line, as fast as they are taken. */
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
