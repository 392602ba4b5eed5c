/** A connection to the mail server, with promises in place of callbacks and events. */
import { isIP } from 'node:net';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { MailError } from './mail-error.ts';

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
  /** Takes about as long as sending an e-mail, but sends nothing. */
  pretendToSend(): Promise<void>;
  close(): void;
}

/** Connects and logs in. Aborting the signal closes the connection at any time. */
export type Connect = (signal: AbortSignal) => Promise<SmtpConnection>;

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
