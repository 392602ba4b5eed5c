import { MailError } from './mail-error.ts';
import type { Connect, SmtpConnection } from './smtp-connection.ts';

const MAX_CONNECTIONS = 5;
/** How long an idle connection is kept. Mail servers close one after minutes, or after seconds when they are busy. */
const KEEP_MS = 60_000;

interface Waiting {
  readonly deadline: number;
  start(): void;
  giveUp(): void;
}

/**
 * A pool of at most five connections to the mail server: the TLS handshake and the login cost more than an e-mail. The
 * pool of nodemailer would not do, because it cannot use a connection without sending an e-mail, as a decoy does.
 */
export class SmtpPool {
  readonly #connect: Connect;
  /** Idle connections, and the timers that close them. */
  readonly #idle = new Map<SmtpConnection, NodeJS.Timeout>();
  readonly #waiting: Waiting[] = [];
  #inUse = 0;
  readonly #closing = new AbortController();

  constructor(connect: Connect) {
    this.#connect = connect;
  }

  /** Runs the work with a connection. Rejects with a `MailError` if none has become free by the deadline. */
  async use(deadline: number, work: (connection: SmtpConnection) => Promise<void>): Promise<void> {
    if (this.#inUse >= MAX_CONNECTIONS) await this.#wait(deadline);
    else this.#inUse++;
    try {
      await this.#run(work);
    } finally {
      this.#release();
    }
  }

  /** Closes all connections, including those in use. */
  close(): void {
    this.#closing.abort();
    this.#closeIdle();
  }

  async #run(work: (connection: SmtpConnection) => Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    const connection = this.#takeIdle() ?? (await this.#connect(signal));
    try {
      await work(connection);
      this.#keep(connection);
    } catch (error) {
      connection.close();
      // If the network or the server has dropped this connection, it has probably dropped the idle ones, too.
      this.#closeIdle();
      throw error;
    }
  }

  #takeIdle(): SmtpConnection | undefined {
    for (const [connection, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(connection);
      if (connection.isOpen) return connection;
    }
    return undefined;
  }

  #keep(connection: SmtpConnection): void {
    const forget = () => {
      this.#idle.delete(connection);
      connection.close();
    };
    this.#idle.set(connection, setTimeout(forget, KEEP_MS).unref());
  }

  #closeIdle(): void {
    for (const [connection, timer] of this.#idle) {
      clearTimeout(timer);
      connection.close();
    }
    this.#idle.clear();
  }

  #wait(deadline: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => reject(new MailError({ code: 'ETIMEDOUT' }, { isOfServer: true }));
    this.#waiting.push({ deadline, start: resolve, giveUp });
    return promise;
  }

  /** Passes the connection slot to the next waiting caller before its deadline. The late ones fail. */
  #release(): void {
    const now = performance.now();
    let next = this.#waiting.shift();
    for (; next && next.deadline <= now; next = this.#waiting.shift()) next.giveUp();
    if (next) next.start();
    else this.#inUse--;
  }
}
