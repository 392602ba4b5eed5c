import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { LoginCode } from '../domain/login/create-login-code.ts';
import { pause } from '../domain/pause.ts';
import type { DeliverCode } from './code-delivery.ts';

/** The work of an e-mail must not show in the latency of the request for it, or of the next one. */
const [MIN_DELAY_MS, MAX_DELAY_MS] = [500, 2_000];
/** How long `close` waits: a mail server that works is faster. */
const CLOSE_TIMEOUT_MS = 3_000;

/** Sends login codes in the background, after the browser has been answered. */
export class LoginMailer {
  /** How many e-mails the mail server took, and how many could not be sent. */
  readonly outcomes = { sent: 0, failed: 0 };
  readonly #deliver: DeliverCode;
  readonly #logger: Logger;
  readonly #isDelayed: boolean;
  readonly #closing = new AbortController();
  /** With the IDs of the requests that asked for them. */
  readonly #pending = new Map<Promise<void>, string>();

  /** `isDelayed` sends each e-mail after a random time. */
  constructor(deliver: DeliverCode, logger: Logger, { isDelayed }: { isDelayed: boolean }) {
    this.#deliver = deliver;
    this.#logger = logger;
    this.#isDelayed = isDelayed;
  }

  send(code: LoginCode, requestId: string): void {
    const delivery = this.#deliverLater(code)
      .catch(({ code, responseCode }) => this.#logFailure(requestId, { code, responseCode }))
      .finally(() => this.#pending.delete(delivery));
    this.#pending.set(delivery, requestId);
  }

  /** Sends delayed e-mails at once, and waits up to 3 s for pending ones. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.race([Promise.all(this.#pending.keys()), pause(CLOSE_TIMEOUT_MS)]);
    for (const requestId of this.#pending.values()) this.#logFailure(requestId, { code: 'shutdown' });
  }

  async #deliverLater(code: LoginCode): Promise<void> {
    if (this.#isDelayed) await pause(randomInt(MIN_DELAY_MS, MAX_DELAY_MS), this.#closing.signal);
    await this.#deliver(code);
    this.outcomes.sent++;
  }

  /** The error itself is not logged: the answer of a mail server quotes the address. */
  #logFailure(requestId: string, why: { code?: string; responseCode?: number }): void {
    this.outcomes.failed++;
    this.#logger.error({ requestId, ...why }, 'login code not sent');
  }
}
