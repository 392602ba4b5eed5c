import { isIP } from 'node:net';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { MailError } from './mail-error.ts';

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

/** The timeout of each step of SMTP. */
const TIMEOUT_MS = 10_000;
const TIMEOUTS = {
  connectionTimeout: TIMEOUT_MS,
  greetingTimeout: TIMEOUT_MS,
  socketTimeout: TIMEOUT_MS,
  /** How long to wait until the mail server closes its side of a connection. */
  socketCloseTimeout: 1_000,
};

/** A message in the form in which it is sent to the mail server. */
interface ComposedMessage {
  readonly envelope: { readonly from: string | false; readonly to: string[] };
  readonly message: Buffer;
}

export interface SmtpConnection {
  readonly isOpen: boolean;
  send(message: ComposedMessage): Promise<void>;
  /** Resolves if the mail server answers. */
  greet(): Promise<void>;
  /** Takes about as long as sending an e-mail, but sends nothing. */
  pretendToSend(): Promise<void>;
  close(): void;
}

/** Connects and logs in. Aborting the signal closes the connection at any time. */
type Connect = (signal: AbortSignal) => Promise<SmtpConnection>;

/**
 * `url` has the form of nodemailer, such as smtps://user:password@host. Its parameter `name` is the name in the EHLO.
 * Without it the host of `publicUrl` is, if that is a dotted name: strict mail servers refuse the `[127.0.0.1]` that
 * nodemailer sends from a machine without one, such as a container.
 */
export async function createConnect(url: string, publicUrl?: string): Promise<Connect> {
  // Loaded with the first e-mail, since most processes send none.
  const [{ default: Transport }, { default: Connection }] = await Promise.all([
    import('nodemailer/lib/smtp-transport'),
    import('nodemailer/lib/smtp-connection'),
  ]);
  const { auth, options } = new Transport({ url, ...TIMEOUTS });
  const { name = toDottedName(publicUrl), ...others } = options;
  return async (signal) => {
    const connection: SMTPConnection & { readonly allowsAuth?: boolean } = new Connection({
      ...others,
      ...(name !== undefined && { name }),
    });
    // Without a listener, the error of an idle connection would end the process. `perform` reports the others.
    connection.on('error', () => {});
    const close = () => connection.close();
    signal.addEventListener('abort', close);
    connection.once('end', () => signal.removeEventListener('abort', close));
    let isConnected = false;
    try {
      await perform(connection, (done) => connection.connect(done));
      isConnected = true;
      if (auth && connection.allowsAuth) await perform(connection, (done) => connection.login(auth, done));
    } catch (cause) {
      connection.close();
      throw new MailError(cause, { isOfServer: true, isConnected });
    }
    return toSmtpConnection(connection);
  };
}

function toDottedName(url: string | undefined): string | undefined {
  const { hostname = '' } = url ? new URL(url) : {};
  return isIP(hostname) === 0 && /^[^[]+\.[^.]/.test(hostname) ? hostname.replace(/\.$/, '') : undefined;
}

function toSmtpConnection(connection: SMTPConnection): SmtpConnection {
  return {
    get isOpen() {
      return !connection.destroyed;
    },
    send: ({ envelope, message }) => perform(connection, (done) => connection.send(envelope, message, done)),
    greet: () => perform(connection, (done) => connection.reset(done)),
    async pretendToSend() {
      // An e-mail takes two to four round trips, depending on whether the server supports pipelining.
      for (let trip = 0; trip < 3; trip++) await perform(connection, (done) => connection.reset(done));
    },
    close: () => connection.close(),
  };
}

/** Runs a step of SMTP. Rejects if it fails, or if the connection ends before its result. */
async function perform(
  connection: SMTPConnection,
  start: (done: (error?: Error | null) => void) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onEnd = () => reject(Object.assign(new Error('The connection has ended'), { code: 'ECONNECTION' }));
  connection.once('error', reject).once('end', onEnd);
  try {
    start((error) => (error ? reject(error) : resolve()));
    await promise;
  } finally {
    connection.off('error', reject).off('end', onEnd);
  }
}
