import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { LoginCode } from '../domain/login/create-login-code.ts';
import { pause } from '../domain/pause.ts';
import type { SendCode } from './code-sender.ts';

/** The latency of this request and of the next must not reveal whether an e-mail was sent. */
const [MIN_DELAY_MS, MAX_DELAY_MS] = [500, 2_000];
/** A working mail server is faster. */
const CLOSE_TIMEOUT_MS = 3_000;

/** Sends login codes in the background, after the browser has been answered. */
export class LoginMailer {
  /** Counts of e-mails: accepted by the mail server, and failed. */
  readonly outcomes = { sent: 0, failed: 0 };
  readonly #sendCode: SendCode;
  readonly #logger: Logger;
  readonly #isDelayed: boolean;
  readonly #closing = new AbortController();
  /** Values are the IDs of the requests that asked for the e-mails. */
  readonly #pending = new Map<Promise<void>, string>();

  /** @param isDelayed whether to send each e-mail after a random time */
  constructor(sendCode: SendCode, logger: Logger, { isDelayed }: { isDelayed: boolean }) {
    this.#sendCode = sendCode;
    this.#logger = logger;
    this.#isDelayed = isDelayed;
  }

  send(code: LoginCode, requestId: string): void {
    const sending = this.#sendLater(code)
      .catch(({ code, responseCode }) => this.#logFailure(requestId, { code, responseCode }))
      .finally(() => this.#pending.delete(sending));
    this.#pending.set(sending, requestId);
  }

  /** Sends delayed e-mails at once, and waits up to 3 s for pending ones. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.race([Promise.all(this.#pending.keys()), pause(CLOSE_TIMEOUT_MS)]);
    for (const requestId of this.#pending.values()) this.#logFailure(requestId, { code: 'shutdown' });
  }

  async #sendLater(code: LoginCode): Promise<void> {
    if (this.#isDelayed) await pause(randomInt(MIN_DELAY_MS, MAX_DELAY_MS), this.#closing.signal);
    await this.#sendCode(code);
    this.outcomes.sent++;
  }

  /** Does not log the error itself, because mail servers quote the address. */
  #logFailure(requestId: string, why: { code?: string; responseCode?: number }): void {
    this.outcomes.failed++;
    this.#logger.error({ requestId, ...why }, 'login code not sent');
  }
}
