import { styleText } from 'node:util';
import type { Config } from '../config/config.ts';
import { composeMessage } from './compose-message.ts';
import type { Mail } from './mail.ts';
import { toLine } from './plain-text.ts';
import { createConnect } from './smtp-connection.ts';
import { SmtpPool } from './smtp-pool.ts';

interface Attempt {
  /** Part of the message ID. Equal for all attempts, so that mail programs show an e-mail once if it arrives twice. */
  readonly id: string;
  /** Whether to do the same work, but send nothing. */
  readonly isDecoy: boolean;
  /** Until this time of `performance.now()`, the attempt waits for a connection. */
  readonly deadline: number;
}

export interface MailSender {
  /** Rejects with an error of nodemailer or a `MailError`. */
  send(mail: Mail, attempt: Attempt): Promise<void>;
  /** Aborts attempts that are under way. */
  close?(): void;
}

/** Without SMTP settings, the sender prints subjects to the terminal. They contain the codes. */
export function createMailSender(smtp: Config['smtp'], publicUrl?: string): MailSender {
  return smtp ? createSmtpSender(smtp.url, smtp.from, publicUrl) : { send: printSubject };
}

function createSmtpSender(url: string, from: string, publicUrl: string | undefined): MailSender {
  const open = async () => {
    const [{ createTransport }, connect] = await Promise.all([import('nodemailer'), createConnect(url, publicUrl)]);
    return { composer: createTransport({ streamTransport: true, buffer: true }), pool: new SmtpPool(connect) };
  };
  let opened: ReturnType<typeof open> | undefined;
  return {
    async send(mail, { id, isDecoy, deadline }) {
      opened ??= open();
      const { composer, pool } = await opened;
      const fields = composeMessage(mail, from);
      const messageId = `<${id}@${fields.from.address.split('@')[1] ?? 'usher'}>`;
      const { envelope, message } = await composer.sendMail({ ...fields, messageId });
      // With the option `buffer`, nodemailer returns a buffer instead of a stream.
      const composed = { envelope, message: message as Buffer };
      await pool.use(deadline, (connection) => (isDecoy ? connection.pretendToSend() : connection.send(composed)));
    },
    close: () => void opened?.then(({ pool }) => pool.close()),
  };
}

async function printSubject({ language, to, subject }: Mail, { isDecoy }: Attempt): Promise<void> {
  // Without a terminal, it adds no style.
  const text = styleText('bold', `E-MAIL to ${to}: ${toLine(language, subject)}`, { stream: process.stdout });
  if (!isDecoy) process.stdout.write(`\n  ${text}\n\n`);
}
