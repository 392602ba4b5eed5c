/**
 * Sends stored notices, each at least once: its row is removed when the mail server has taken the e-mail. Every process
 * looks for due notices, so those of a process that has crashed are sent, too.
 */

import type { Logger } from 'pino';
import { showEmail } from '../config/email-address.ts';
import type { Database, Run } from '../database/database.ts';
import { ACCOUNT_APPLICATION_ID } from '../domain/core/own-applications.ts';
import type { LoginCodeKeys } from '../domain/login/login-code.ts';
import { createMuteToken } from '../domain/login/muted-addresses.ts';
import {
  claimNotice,
  type DueNotice,
  findDueNotices,
  postponeNotice,
  removeNotice,
} from '../domain/notices/due-notices.ts';
import { LINK_DAYS, type NoticeLinks } from '../domain/notices/notice-links.ts';
import { ENGLISH, LANGUAGES, type Language } from '../texts/texts.ts';
import { pause } from '../timing/pause.ts';
import { createInvitationMail } from './invitation-mail.ts';
import type { Mail } from './mail.ts';
import { toMailError } from './mail-error.ts';
import { createNotice } from './notice.ts';
import type { MailSender } from './send-mail.ts';

/** How often a process looks for retries, and for notices of other processes. */
const POLL_MS = 5_000;
/** At most so many attempts at a time, of the five connections that notices share with codes. */
const BATCH_SIZE = 3;
/** How long an attempt waits for a connection to the mail server. */
const WAIT_MS = 20_000;
const STATEMENT_MS = 5_000;
const NOT_ME = ['mail.addressChanged.undo'] as const;
/** How long a shutdown waits for attempts. Another process repeats the others. */
const CLOSE_TIMEOUT_MS = 3_000;

export interface NoticeParts {
  /** The URL of the login page. That of the account page is next to it. */
  readonly authPageUrl: string;
  readonly clock: () => Date;
  /** The keys of links that mute an address. */
  readonly codeKeys: LoginCodeKeys;
  readonly database: Pick<Database, 'within'>;
  /** Whether Usher has the page that mutes an address. */
  readonly hasMutePage: boolean;
  readonly logger: Logger;
  /** Counts the e-mails that the mail server has accepted, and those that have failed. */
  readonly outcomes: { sent: number; failed: number };
  /** The links of modules. */
  readonly noticeLinks: NoticeLinks;
  readonly providers: { nameOf(providerId: string): string };
  readonly sender: Pick<MailSender, 'send'>;
}

export class NoticeSender {
  readonly #parts: NoticeParts;
  #woken = Promise.withResolvers<void>();

  constructor(parts: NoticeParts) {
    this.#parts = parts;
  }

  /** Sends new notices without waiting for the next poll. */
  readonly wake = (): void => this.#woken.resolve();

  /** Sends notices until the signal is aborted; then waits up to 3 s for attempts under way. */
  async run(signal: AbortSignal): Promise<void> {
    const late = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => setTimeout(late.resolve, CLOSE_TIMEOUT_MS).unref(), { once: true });
    await Promise.race([this.#sendUntil(signal), late.promise]);
  }

  async #sendUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#woken = Promise.withResolvers();
      const isMore = await this.#sendBatch().catch((err: unknown) => {
        this.#parts.logger.warn({ err }, 'notices not sent yet');
      });
      // Jitter, so that replicas that started together do not look together.
      if (!isMore) await Promise.race([this.#woken.promise, pause(POLL_MS * (0.75 + Math.random() / 2), signal)]);
    }
  }

  /** Returns whether more notices may be due. */
  async #sendBatch(): Promise<boolean> {
    const due = await findDueNotices(this.#run, this.#parts.clock(), BATCH_SIZE);
    await Promise.all(due.map((notice) => this.#send(notice)));
    return due.length === BATCH_SIZE;
  }

  async #send(notice: DueNotice): Promise<void> {
    const { clock, logger, outcomes, sender } = this.#parts;
    if (!(await claimNotice(this.#run, notice, clock()))) return;
    const mail = this.#compose(notice);
    // Equal for all attempts, so that mail programs show an e-mail once if it arrives twice.
    const attempt = { id: `${notice.id}.${notice.kind}`, isDecoy: false, deadline: performance.now() + WAIT_MS };
    try {
      await sender.send(mail, attempt);
      outcomes.sent++;
    } catch (cause) {
      const error = toMailError(cause);
      const { code, responseCode, detail } = error;
      const isLast = (error.isPermanent && !error.isOfServer) || clock() >= notice.expiresAt;
      logger[isLast ? 'error' : 'warn']({ code, responseCode, detail }, `${mail.kind} not sent${isLast ? '' : ' yet'}`);
      if (!isLast) return await postponeNotice(this.#run, notice, clock());
      outcomes.failed++;
    }
    await removeNotice(this.#run, notice);
  }

  #compose({ kind, userId, recipient: to, value, changedAt: at, ...row }: DueNotice): Mail {
    const { authPageUrl, noticeLinks, providers } = this.#parts;
    const language = LANGUAGES.get(row.language) ?? ENGLISH;
    const { host } = new URL(authPageUrl);
    if (kind === 'invitation') return this.#invite(row, { to, language, expiresAt: new Date(value) });
    const path = noticeLinks[kind]?.({ id: row.id, userId, recipient: to, value, changedAt: at });
    const url = path && authPageUrl.replace(/\/login$/, '/account') + path;
    const duration = language.duration(LINK_DAYS, 'day');
    const undo = url ? { link: { text: NOT_ME, url }, duration } : {};
    const notice = { to, language, application: toApplication(row, language), host, at, value, ...undo };
    switch (kind) {
      case 'identityLinked':
      case 'identityRemoved':
        return createNotice(kind, { ...notice, value: providers.nameOf(value) || value });
      case 'addressChanged':
      case 'addressReplaced':
        return createNotice(url ? kind : 'addressReplaced', { ...notice, value: showEmail(value) });
      default:
        return createNotice(kind, notice);
    }
  }

  #invite(
    row: ApplicationOf & Pick<DueNotice, 'initiateLoginUri'>,
    mail: { to: string; language: Language; expiresAt: Date },
  ) {
    const { authPageUrl, clock, codeKeys, hasMutePage } = this.#parts;
    const token = createMuteToken(codeKeys, mail.to, clock());
    return createInvitationMail({
      ...mail,
      application: toApplication(row, mail.language),
      initiateLoginUri: row.initiateLoginUri,
      muteUrl: hasMutePage ? `${authPageUrl}/mute?t=${token}` : undefined,
    });
  }

  readonly #run: Run = (statement, parameters) =>
    this.#parts.database.within(performance.now() + STATEMENT_MS)(statement, parameters);
}

type ApplicationOf = Pick<DueNotice, 'applicationId' | 'applicationName' | 'accentColor' | 'supportUri'>;

/** The name of the account page is translated. */
function toApplication({ applicationId, applicationName, accentColor, supportUri }: ApplicationOf, language: Language) {
  const isAccount = applicationId === ACCOUNT_APPLICATION_ID || applicationName === null;
  return { name: isAccount ? language.text('account.title') : applicationName, accentColor, supportUri };
}
