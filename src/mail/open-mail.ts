/** Opens the e-mails of a process: codes, which it keeps in memory, and notices, which the database keeps. */
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { NoticeSettings } from '../domain/core/call.ts';
import { ENGLISH } from '../texts/texts.ts';
import { MailQueue } from './mail-queue.ts';
import { type NoticeParts, NoticeSender } from './notice-sender.ts';
import { createMailSender, type MailSender } from './send-mail.ts';

export interface OpenNotices extends NoticeSettings {
  /** Sends notices until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/** @param sendMail replaces the mail server */
export function openMail(
  { loginMethods, smtp }: Pick<Config, 'loginMethods' | 'smtp'>,
  logger: Logger,
  sendMail?: MailSender['send'],
) {
  const sender = sendMail ? { send: sendMail } : createMailSender(smtp);
  const mailer = new MailQueue(sender, logger, { isDelayed: smtp !== undefined });
  const openNotices = (parts: Omit<NoticeParts, 'logger' | 'outcomes' | 'sender'>): OpenNotices | undefined => {
    // Usher has a mail server only where people can sign in with codes.
    if (!loginMethods.includes('email')) return undefined;
    const notices = new NoticeSender({
      ...parts,
      logger,
      outcomes: mailer.outcomes,
      sender,
    });
    // English for changes by operators: Usher does not know the user's language.
    return { wake: notices.wake, run: (signal) => notices.run(signal), toLanguage: () => ENGLISH.tag };
  };
  return { mailer, openNotices };
}
