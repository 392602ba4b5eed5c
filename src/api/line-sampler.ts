/** Limits the log lines of calls without a valid credential: otherwise anyone could fill the log. */
import type { Logger } from 'pino';

const WINDOW_MS = 1_000;
const MAX_PER_WINDOW = 100;

export class LineSampler {
  readonly #windows = new Map<string, { lines: number; leftOut: number }>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Returns whether the caller may write a line of this kind. At most once a second, a line counts those left out. */
  admit(kind: string): boolean {
    const window = this.#windows.get(kind) ?? this.#open(kind);
    const isAdmitted = window.lines < MAX_PER_WINDOW;
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
    }, WINDOW_MS).unref();
    return window;
  }
}
