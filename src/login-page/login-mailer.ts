import type { Logger } from 'pino';
import type { LoginCode } from '../domain/login/create-login-code.ts';
import { pause } from '../domain/pause.ts';
import type { DeliverCode } from './mailer.ts';

/** How long letters on their way may take at the end: longer than a mail server that is well. */
const PATIENCE_MS = 3_000;

/** Hands letters on while whoever asked for them has been answered. */
export class LoginMailer {
  readonly #deliver: DeliverCode;
  readonly #logger: Logger;
  readonly #inFlight = new Map<Promise<void>, string>();

  constructor(deliver: DeliverCode, logger: Logger) {
    this.#deliver = deliver;
    this.#logger = logger;
  }

  post(letter: LoginCode, requestId: string): void {
    const delivery = this.#deliver(letter)
      .catch(({ code, responseCode }) => this.#tell(requestId, { code, responseCode }))
      .finally(() => this.#inFlight.delete(delivery));
    this.#inFlight.set(delivery, requestId);
  }

  /** Waits for letters on their way. */
  async close(): Promise<void> {
    await Promise.race([Promise.all(this.#inFlight.keys()), pause(PATIENCE_MS)]);
    for (const requestId of this.#inFlight.values()) this.#tell(requestId, { code: 'shutdown' });
  }

  /** Not the error itself: a mail server's answer quotes the address. */
  #tell(requestId: string, why: { code?: string; responseCode?: number }): void {
    this.#logger.error({ requestId, ...why }, 'login code not sent');
  }
}
