/** Where e-mails go in tests, in place of a mail server. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Mail } from '../mail/mail.ts';
import { toHtmlText, toLine, toPlainText } from '../mail/mail-text.ts';
import type { MailSender } from '../mail/send-mail.ts';
import type { TestMail } from './test-usher.ts';

interface SentCode {
  readonly email: string;
  readonly code: string;
  readonly applicationName: string;
}

/** Receives the e-mails of a server without SMTP: `startTestService({ sendMail: mailbox.sendMail })`. */
export class Mailbox {
  /** The oldest first. */
  readonly mails: Mail[] = [];
  readonly codes: SentCode[] = [];
  /** What sending fails with. */
  failure: Error | undefined;

  readonly sendMail: MailSender['send'] = async (mail, { isDecoy }) => {
    if (this.failure) throw this.failure;
    if (isDecoy) return;
    this.mails.push(mail);
    const { to: email, code, application } = mail;
    if (code) this.codes.push({ email, code: code.digits, applicationName: application.name });
  };

  /** Returns the codes that were sent to the address. */
  sentTo(email: string): SentCode[] {
    return this.codes.filter((code) => code.email === email);
  }

  /** Returns the last code that was sent to the address. */
  codeFor(email: string): string {
    const last = this.sentTo(email).at(-1);
    if (!last) throw new Error(`No code for ${email}`);
    return last.code;
  }
}

const WAIT_MS = 5_000;
const POLL_MS = 5;

/** Reads a mailbox as an application's tests do. */
export class MailReader {
  readonly #mailbox: Pick<Mailbox, 'mails'>;
  /** How many e-mails to an address `next` has returned. */
  readonly #seen = new Map<string, number>();

  constructor(mailbox: Pick<Mailbox, 'mails'>) {
    this.#mailbox = mailbox;
  }

  readonly list = (address: string): readonly TestMail[] =>
    this.#mailbox.mails.filter(({ to }) => to.toLowerCase() === address.toLowerCase()).map(toTestMail);

  readonly next = async (address: string): Promise<TestMail> => {
    const key = address.toLowerCase();
    const seen = this.#seen.get(key) ?? 0;
    // Taken at once, so that two calls return two e-mails.
    this.#seen.set(key, seen + 1);
    const until = performance.now() + WAIT_MS;
    for (;;) {
      const mail = this.list(address)[seen];
      if (mail) return mail;
      if (performance.now() > until) break;
      await sleep(POLL_MS);
    }
    this.#seen.set(key, seen);
    const others = [...new Set(this.#mailbox.mails.map(({ to }) => to))];
    throw new Error(
      `No new e-mail to ${address} within ${WAIT_MS / 1_000} s; there are e-mails to ${others.join(', ') || 'nobody'}`,
    );
  };

  forget(): void {
    this.#mailbox.mails.length = 0;
    this.#seen.clear();
  }
}

function toTestMail(mail: Mail): TestMail {
  const text = toPlainText(mail);
  const links = [mail.action?.url, mail.link?.url, ...(text.match(/https?:\/\/[^\s<>"]+/g) ?? [])];
  return {
    to: mail.to,
    subject: toLine(mail.language, mail.subject),
    text,
    html: toHtmlText(mail),
    code: mail.code?.digits,
    links: [...new Set(links.filter((link) => link !== undefined))],
  };
}
