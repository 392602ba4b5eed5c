import { randomInt, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { pause } from '../domain/pause.ts';
import type { Mail } from './mail.ts';
import { MailError, toMailError } from './mail-error.ts';
import type { MailSender } from './send-mail.ts';

/** The latency of this request and of the next must not reveal whether an e-mail was sent. */
const [MIN_DELAY_MS, MAX_DELAY_MS] = [500, 2_000];
/** Before the second attempt and those after it. */
const RETRY_DELAYS_MS = [2_000, 10_000, 30_000];
/** An attempt that has found no free connection by then is too late: people have given up. */
const GIVE_UP_MS = 60_000;
/** A few kilobytes each. */
const MAX_PENDING = 5_000;
/** A working mail server is faster. */
const CLOSE_TIMEOUT_MS = 3_000;

interface MailQueueOptions {
  /** Whether to send each e-mail after a random time. */
  readonly isDelayed: boolean;
  readonly maxPending?: number;
  readonly retryDelaysMs?: readonly number[];
}

interface Order {
  /** Of the request that asked for the e-mail. */
  readonly requestId: string;
  /** Do the same work, but send nothing. */
  readonly isDecoy?: boolean;
  /** Called once, with the error if the e-mail could not be sent. */
  readonly onEnd?: (error?: MailError) => Promise<void>;
}

/** Sends e-mails in the background, after the browser has been answered. It keeps them in memory. */
export class MailQueue {
  /** Counts of e-mails: accepted by the mail server, and failed. */
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

  /** Sends the e-mail, four times at most within about a minute. */
  send(mail: Mail, order: Order): void {
    const fail = (error: MailError) => this.#fail(mail, order, error);
    if (this.#pending.size >= this.#options.maxPending) {
      void fail(new MailError({ code: 'queue full' }, { isOfServer: true }));
      return;
    }
    const sending: Promise<void> = this.#deliver(mail, order)
      .then(
        () => this.#succeed(mail, order),
        (error) => (this.#pending.has(sending) ? fail(error) : undefined),
      )
      .finally(() => this.#pending.delete(sending));
    this.#pending.set(sending, () => fail(new MailError({ code: 'shutdown' }, { isOfServer: true })));
  }

  /** Sends delayed e-mails at once, and waits up to 3 s for pending ones. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.race([Promise.all(this.#pending.keys()), pause(CLOSE_TIMEOUT_MS)]);
    const late = [...this.#pending.values()];
    this.#pending.clear();
    await Promise.all(late.map((fail) => fail()));
    this.#sender.close?.();
  }

  async #deliver(mail: Mail, { isDecoy = false }: Order): Promise<void> {
    const { isDelayed, retryDelaysMs } = this.#options;
    const { signal } = this.#closing;
    if (isDelayed) await pause(randomInt(MIN_DELAY_MS, MAX_DELAY_MS), signal);
    const attempt = { id: randomUUID(), isDecoy, deadline: performance.now() + GIVE_UP_MS };
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

  async #succeed(mail: Mail, order: Order): Promise<void> {
    this.outcomes.sent++;
    await this.#end(mail, order);
  }

  async #fail(mail: Mail, order: Order, error: MailError): Promise<void> {
    const { code, responseCode, detail } = error;
    this.outcomes.failed++;
    this.#logger.error({ requestId: order.requestId, code, responseCode, detail }, `${mail.kind} not sent`);
    await this.#end(mail, order, error);
  }

  async #end({ kind }: Mail, { requestId, onEnd }: Order, error?: MailError): Promise<void> {
    await onEnd?.(error).catch((err: unknown) => {
      this.#logger.warn({ err, requestId }, `result of ${kind} not stored`);
    });
  }
}
