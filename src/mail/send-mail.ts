import { styleText } from 'node:util';
import type { SendMailOptions } from 'nodemailer';
import type { Config } from '../config/config.ts';
import { canonicalizeEmail } from '../config/email-address.ts';
import { type Mail, supportAddressOf } from './mail.ts';
import { toHtmlText, toLine, toPlainText, withoutControls } from './mail-text.ts';
import { createConnect, SmtpPool } from './smtp-pool.ts';

/** How long a greeting waits for a connection that e-mails use. */
const GREETING_MS = 20_000;

interface Attempt {
  /** Part of the message ID. Equal for all attempts, so that mail programs show an e-mail once if it arrives twice. */
  readonly id: string;
  /** Whether to do the same work, but send nothing. */
  readonly isDecoy: boolean;
  /** Why, for the terminal of a developer. */
  readonly decoyReason?: string | undefined;
  /** Until this time of `performance.now()`, the attempt waits for a connection. */
  readonly deadline: number;
}

export interface MailSender {
  /** Rejects with an error of nodemailer or a `MailError`. */
  send(mail: Mail, attempt: Attempt): Promise<void>;
  /** Connects and logs in to the mail server, and sends nothing. Absent without one. */
  greet?(): Promise<void>;
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
    async greet() {
      opened ??= open();
      await (await opened).pool.use(performance.now() + GREETING_MS, (connection) => connection.greet());
    },
    close: () => void opened?.then(({ pool }) => pool.close()),
  };
}

async function printSubject({ language, to, subject }: Mail, { isDecoy, decoyReason }: Attempt): Promise<void> {
  const line = isDecoy
    ? `NO E-MAIL to ${to}: ${withoutControls(decoyReason ?? '')}`
    : `E-MAIL to ${to}: ${toLine(language, subject)}`;
  // Without a terminal, it adds no style.
  process.stdout.write(`\n  ${styleText('bold', line, { stream: process.stdout })}\n\n`);
}

/** Returns the e-mail as options of nodemailer. `from` is `MAIL_FROM`, such as `Usher <login@example.com>`. */
function composeMessage(mail: Mail, from: string) {
  const { application, language } = mail;
  const replyTo = supportAddressOf(application);
  return {
    from: { name: withoutControls(application.name), address: senderAddressOf(from) },
    // Nodemailer does not parse an address in an object, so it cannot hold a display name or further recipients.
    // A user from before Usher stored A-labels may have Unicode, which nodemailer would not compose.
    to: { name: '', address: canonicalizeEmail(mail.to) ?? mail.to },
    ...(replyTo && { replyTo: { name: '', address: replyTo } }),
    subject: toLine(language, mail.subject),
    text: toPlainText(mail),
    html: toHtmlText(mail),
    headers: {
      // Prevents automatic replies: the first header by RFC 3834, the second for Exchange.
      'auto-submitted': 'auto-generated',
      'x-auto-response-suppress': 'All',
      'content-language': language.tag,
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  } satisfies SendMailOptions;
}

/** @param from `MAIL_FROM` */
export function senderAddressOf(from: string): string {
  return (/<([^<>]+)>\s*$/.exec(from)?.[1] ?? from).trim();
}
