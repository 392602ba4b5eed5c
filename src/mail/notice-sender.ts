/**
 * Sends stored notices, each at least once: its row is removed when the mail server has taken the e-mail. Every process
 * looks for due notices, so those of a process that has crashed are sent, too.
 */

import type { Logger } from 'pino';
import type { Database, Run } from '../database/pool/database.ts';
import {
  claimNotice,
  type DueNotice,
  findDueNotices,
  postponeNotice,
  removeNotice,
} from '../domain/notices/due-notices.ts';
import { pause } from '../pause.ts';
import { type ComposeParts, composeNotice } from './compose-notice.ts';
import { toMailError } from './mail-error.ts';
import type { MailSender } from './send-mail.ts';

/** How often a process looks for retries, and for notices of other processes. */
const POLL_MS = 5_000;
/** At most so many attempts at a time, of the five connections that notices share with codes. */
const BATCH_SIZE = 3;
/** How long an attempt waits for a connection to the mail server. */
const WAIT_MS = 20_000;
const STATEMENT_MS = 5_000;
/** How long a shutdown waits for attempts. Another process repeats the others. */
const CLOSE_TIMEOUT_MS = 3_000;

export interface NoticeParts extends ComposeParts {
  readonly database: Pick<Database, 'eachWithin'>;
  readonly logger: Logger;
  /** Counts the e-mails that the mail server has accepted, and those that have failed. */
  readonly outcomes: { sent: number; failed: number };
  readonly sender: Pick<MailSender, 'send'>;
}

export class NoticeSender {
  readonly #parts: NoticeParts;
  readonly #run: Run;
  #woken = Promise.withResolvers<void>();

  constructor(parts: NoticeParts) {
    this.#parts = parts;
    this.#run = parts.database.eachWithin(STATEMENT_MS);
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
    const mail = composeNotice(notice, this.#parts);
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
}
