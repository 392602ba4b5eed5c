/** Where e-mails go in tests: an SMTP server, and servers that misbehave. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export { Mailbox } from '../../src/testing/mailbox.ts';

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
  readonly emails: readonly ReceivedEmail[];
  readonly port: number;
  readonly #server: SMTPServer;

  private constructor(server: SMTPServer, port: number, emails: ReceivedEmail[]) {
    this.#server = server;
    this.port = port;
    this.emails = emails;
  }

  /** On a free port, unless one is given. */
  static async start({ port, ...options }: SMTPServerOptions & { port?: number } = {}): Promise<MailServer> {
    const emails: ReceivedEmail[] = [];
    const server = new SMTPServer({
      authOptional: true,
      allowInsecureAuth: true,
      disabledCommands: ['STARTTLS'],
      // Clients keep their connections.
      closeTimeout: 100,
      onData: async (stream, { envelope, user }, done) => {
        const raw = await text(stream).catch(() => undefined);
        // The client was killed while it sent.
        if (raw === undefined) return done();
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        emails.push({ from, to: envelope.rcptTo.map(({ address }) => address), raw, user });
        done();
      },
      ...options,
    });
    server.on('error', () => {});
    return new MailServer(server, await listen(server.server, port), emails);
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(resolve));
  }
}

/** Accepts TCP connections and does with each what the test says. */
export async function startSocketServer(handle: (socket: Socket) => void) {
  /** The open connections. */
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    handle(socket);
  });
  return {
    port: await listen(server),
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Sends 100 MB in one line, as fast as the peer reads. */
export async function flood(socket: Socket): Promise<void> {
  const chunk = Buffer.alloc(65_536, 'x');
  for (let sent = 0; sent < 100_000_000 && !socket.destroyed; sent += chunk.length) {
    if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
  }
  socket.end();
}

/** Resolves to the port. */
async function listen(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server has an AddressInfo.
  return (server.address() as AddressInfo).port;
}
