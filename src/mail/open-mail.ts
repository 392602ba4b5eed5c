/** Opens the e-mails of a process: codes, which it keeps in memory, and notices, which the database keeps. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { NoticeSettings } from '../domain/core/call.ts';
import { deriveLoginCodeKeys } from '../domain/login/login-code.ts';
import { matchTags } from '../texts/match-language.ts';
import { ENGLISH } from '../texts/texts.ts';
import { MailHealth } from './mail-health.ts';
import { MailQueue } from './mail-queue.ts';
import { type NoticeParts, NoticeSender } from './notice-sender.ts';
import { createMailSender, type MailSender } from './send-mail.ts';
import { createTestMail } from './test-mail.ts';

export interface OpenNotices extends NoticeSettings {
  /** Sends notices until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/** The mail server, as operators see it. */
export interface MailServer {
  read(): ReturnType<MailHealth['read']>;
  /** Greets it until the signal is aborted. */
  greet(signal: AbortSignal): Promise<void>;
  /** Rejects with the error of nodemailer, whose message quotes the address. */
  sendTest(to: string): Promise<void>;
}

/** How long a test waits for a connection that e-mails use. */
const TEST_MS = 10_000;

/** @param sendMail replaces the mail server */
export function openMail(
  {
    authPageUrl: ownPageUrl,
    loginMethods,
    publicUrl,
    smtp,
  }: Pick<Config, 'authPageUrl' | 'loginMethods' | 'publicUrl' | 'smtp'>,
  { clock, logger }: { readonly clock: () => Date; readonly logger: Logger },
  sendMail?: MailSender['send'],
) {
  const hasCodes = loginMethods.includes('email');
  const health = new MailHealth(clock);
  const sender = health.watch(sendMail ? { send: sendMail } : createMailSender(smtp, publicUrl));
  const mailer = new MailQueue(sender, logger, { isDelayed: smtp !== undefined });
  const openNotices = ({
    encryptionKeys,
    ...parts
  }: Omit<NoticeParts, 'codeKeys' | 'hasAccountPage' | 'hasMutePage' | 'logger' | 'outcomes' | 'sender'> & {
    readonly encryptionKeys: readonly Buffer[];
  }): OpenNotices | undefined => {
    // Codes may go to the terminal, which stands for a mail server then.
    if (!hasCodes && !smtp && !sendMail) return undefined;
    const notices = new NoticeSender({
      ...parts,
      codeKeys: deriveLoginCodeKeys(encryptionKeys),
      hasAccountPage: ownPageUrl === undefined,
      hasMutePage: hasCodes && ownPageUrl === undefined,
      logger,
      outcomes: mailer.outcomes,
      sender,
    });
    // English for changes by operators: Usher does not know the user's language. An invitation names it.
    const toLanguage = (locale?: string | null) => (matchTags(locale ?? '') ?? ENGLISH).tag;
    return { wake: notices.wake, run: (signal) => notices.run(signal), toLanguage };
  };
  const mailServer: MailServer = {
    read: () => health.read(),
    greet: (signal) => health.greet(sender, logger, signal),
    async sendTest(to) {
      const attempt = { id: randomUUID(), isDecoy: false, deadline: performance.now() + TEST_MS };
      const host = new URL(publicUrl ?? 'http://localhost').host;
      await sender.send(createTestMail(to, host), attempt);
    },
  };
  return { mailer, mailServer, openNotices };
}
