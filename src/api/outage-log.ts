import type { Logger } from 'pino';

const WINDOW_MS = 10_000;

interface FailedCall {
  readonly requestId: string;
  readonly method: string;
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
}

/**
 * Logs calls that Usher could not serve at `warn`, so that an outage is visible without the lines of calls: the first at
 * once, and every ten seconds how many more there were. A line for each would fill the log.
 */
export class OutageLog {
  #more = 0;
  #isWatching = false;
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  report({ requestId, method, reason, detail }: FailedCall): void {
    if (this.#isWatching) {
      this.#more++;
      return;
    }
    this.#isWatching = true;
    this.#logger.warn({ requestId, method, reason, detail }, 'call not served');
    this.#watch();
  }

  #watch(): void {
    setTimeout(() => {
      const calls = this.#more;
      this.#more = 0;
      this.#isWatching = calls > 0;
      if (calls === 0) return;
      this.#logger.warn({ calls, seconds: WINDOW_MS / 1_000 }, 'calls not served');
      this.#watch();
    }, WINDOW_MS).unref();
  }
}
