/** Limits the lines of calls without a credential in the log, which anyone could fill. */
import type { Logger } from 'pino';

const WINDOW_MS = 1_000;
const MAX_PER_WINDOW = 100;

export class LineSampler {
  readonly #windows = new Map<string, { lines: number; leftOut: number }>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Returns whether one more line of the kind may be written. Those left out are counted in a line per second. */
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
