import { randomInt, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { pause } from '../pause.ts';
import type { Mail } from './mail.ts';
import { MailError, toMailError } from './mail-error.ts';
import type { MailSender } from './send-mail.ts';

/** A random delay: the latency of this request and of the next one must not reveal whether an e-mail was sent. */
const [MIN_DELAY_MS, MAX_DELAY_MS] = [500, 2_000];
/** The delays before the second attempt and the further ones. */
const RETRY_DELAYS_MS = [2_000, 10_000, 30_000];
/** An attempt that waits for a connection fails after this time, because people no longer wait for the e-mail. */
const GIVE_UP_MS = 60_000;
/** Each pending e-mail takes a few kilobytes. */
const MAX_PENDING = 5_000;
/** A mail server that works is faster. */
const CLOSE_TIMEOUT_MS = 3_000;

interface MailQueueOptions {
  /** Whether to delay each e-mail by a random time. */
  readonly isDelayed: boolean;
  readonly maxPending?: number;
  readonly retryDelaysMs?: readonly number[];
}

interface SendOptions {
  /** The ID of the request that causes the e-mail. */
  readonly requestId: string;
  /** Whether to do the same work, but send nothing. */
  readonly isDecoy?: boolean;
  /** Why, for the terminal of a developer. */
  readonly decoyReason?: string | undefined;
  /** Called once, with the error if the e-mail could not be sent. */
  readonly onEnd?: (error?: MailError) => Promise<void>;
}

/**
 * Sends e-mails in the background, so that browsers do not wait for the mail server. It keeps the e-mails in memory.
 */
export class MailQueue {
  /** Counts the e-mails that the mail server has accepted, and those that have failed. */
  readonly outcomes = { sent: 0, failed: 0 };
  readonly #sender: MailSender;
  readonly #logger: Logger;
  readonly #options: Required<MailQueueOptions>;
  readonly #closing = new AbortController();
  readonly #pending = new Map<Promise<void>, () => Promise<void>>();

  constructor(sender: MailSender, logger: Logger, options: MailQueueOptions) {
    this.#sender = sender;
    this.#logger = logger;
    this.#options = { maxPending: MAX_PENDING, retryDelaysMs: RETRY_DELAYS_MS, ...options };
  }

  /** Sends the e-mail in the background, with at most four attempts within about a minute. */
  send(mail: Mail, options: SendOptions): void {
    const fail = (error: MailError) => this.#fail(mail, options, error);
    if (this.#pending.size >= this.#options.maxPending) {
      void fail(new MailError({ code: 'queue full' }, { isOfServer: true }));
      return;
    }
    const sending: Promise<void> = this.#sendWithRetries(mail, options)
      .then(
        // After `close` has given up on an e-mail, its result has been reported.
        () => (this.#pending.has(sending) ? this.#succeed(mail, options) : undefined),
        (error) => (this.#pending.has(sending) ? fail(error) : undefined),
      )
      .finally(() => this.#pending.delete(sending));
    this.#pending.set(sending, () => fail(new MailError({ code: 'shutdown' }, { isOfServer: true })));
  }

  /** Sends delayed e-mails at once, and waits up to 3 s for pending ones. The rest fails with the code `shutdown`. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.race([Promise.all(this.#pending.keys()), pause(CLOSE_TIMEOUT_MS)]);
    const late = [...this.#pending.values()];
    this.#pending.clear();
    await Promise.all(late.map((fail) => fail()));
    this.#sender.close?.();
  }

  async #sendWithRetries(mail: Mail, { isDecoy = false, decoyReason }: SendOptions): Promise<void> {
    const { isDelayed, retryDelaysMs } = this.#options;
    const { signal } = this.#closing;
    if (isDelayed) await pause(randomInt(MIN_DELAY_MS, MAX_DELAY_MS), signal);
    const attempt = { id: randomUUID(), isDecoy, decoyReason, deadline: performance.now() + GIVE_UP_MS };
    for (let failures = 0; ; failures++) {
      const isLast = signal.aborted || failures >= retryDelaysMs.length;
      try {
        return await this.#sender.send(mail, attempt);
      } catch (cause) {
        const error = toMailError(cause);
        if (isLast || error.isPermanent) throw error;
      }
      await pause(retryDelaysMs[failures] ?? 0, signal);
    }
  }

  async #succeed(mail: Mail, options: SendOptions): Promise<void> {
    this.outcomes.sent++;
    await this.#end(mail, options);
  }

  async #fail(mail: Mail, options: SendOptions, error: MailError): Promise<void> {
    const { code, responseCode, detail } = error;
    this.outcomes.failed++;
    this.#logger.error({ requestId: options.requestId, code, responseCode, detail }, `${mail.kind} not sent`);
    await this.#end(mail, options, error);
  }

  async #end({ kind }: Mail, { requestId, onEnd }: SendOptions, error?: MailError): Promise<void> {
    await onEnd?.(error).catch((err: unknown) => {
      this.#logger.warn({ err, requestId }, `result of ${kind} not stored`);
    });
  }
}
