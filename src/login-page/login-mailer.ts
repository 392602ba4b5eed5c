import type { Logger } from 'pino';
import type { LoginCode } from '../domain/login/create-login-code.ts';
import { pause } from '../domain/pause.ts';
import type { DeliverCode } from './mailer.ts';

/** How long `close` waits: a mail server that works is faster. */
const CLOSE_TIMEOUT_MS = 3_000;

/** Sends login codes in the background, after the browser has been answered. */
export class LoginMailer {
  readonly #deliver: DeliverCode;
  readonly #logger: Logger;
  /** With the IDs of the requests that asked for them. */
  readonly #pending = new Map<Promise<void>, string>();

  constructor(deliver: DeliverCode, logger: Logger) {
    this.#deliver = deliver;
    this.#logger = logger;
  }

  send(code: LoginCode, requestId: string): void {
    const delivery = this.#deliver(code)
      .catch(({ code, responseCode }) => this.#logFailure(requestId, { code, responseCode }))
      .finally(() => this.#pending.delete(delivery));
    this.#pending.set(delivery, requestId);
  }

  /** Waits up to 3 s for pending e-mails. */
  async close(): Promise<void> {
    await Promise.race([Promise.all(this.#pending.keys()), pause(CLOSE_TIMEOUT_MS)]);
    for (const requestId of this.#pending.values()) this.#logFailure(requestId, { code: 'shutdown' });
  }

  /** The error itself is not logged: the answer of a mail server quotes the address. */
  #logFailure(requestId: string, why: { code?: string; responseCode?: number }): void {
    this.#logger.error({ requestId, ...why }, 'login code not sent');
  }
}
