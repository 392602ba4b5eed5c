/** What keeps callers from filling the log. */
import type { Logger } from 'pino';

export function createLineLimits(logger: Logger) {
  return { outages: new OutageLog(logger), sampler: new LineSampler(logger) };
}

const OUTAGE_MS = 10_000;

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
      this.#logger.warn({ calls, seconds: OUTAGE_MS / 1_000 }, 'calls not served');
      this.#watch();
    }, OUTAGE_MS).unref();
  }
}

const SAMPLE_MS = 1_000;
const MAX_LINES = 100;

/** Limits the log lines of calls without a valid credential: otherwise anyone could fill the log. */
export class LineSampler {
  readonly #windows = new Map<string, { lines: number; leftOut: number }>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Returns whether the caller may write a line of this kind. At most once a second, a line counts those left out. */
  admit(kind: string): boolean {
    const window = this.#windows.get(kind) ?? this.#open(kind);
    const isAdmitted = window.lines < MAX_LINES;
    if (isAdmitted) window.lines++;
    else window.leftOut++;
    return isAdmitted;
  }

  #open(kind: string) {
    const window = { lines: 0, leftOut: 0 };
    this.#windows.set(kind, window);
    setTimeout(() => {
      this.#windows.delete(kind);
      const { leftOut } = window;
      if (leftOut > 0) this.#logger.info({ kind, leftOut }, 'calls left out of the log');
    }, SAMPLE_MS).unref();
    return window;
  }
}
