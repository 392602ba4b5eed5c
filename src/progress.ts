/** Says what a start or a command is doing while it takes long. */
import { CLEAR_LINE } from './log.ts';

/** How often a line is written without a terminal. */
const INTERVAL_MS = 30_000;

interface Terminal {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

interface ProgressOptions {
  readonly terminal?: Terminal;
  readonly intervalMs?: number;
}

/**
 * On a terminal, shows each step at once in one line, which the next one replaces. Elsewhere, `writeLine` gets the step
 * under way every 30 s.
 */
export class Progress implements Disposable {
  #step = '';
  readonly #terminal: Terminal | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(
    writeLine: (step: string) => void,
    { terminal = process.stderr, intervalMs = INTERVAL_MS }: ProgressOptions = {},
  ) {
    this.#terminal = terminal.isTTY ? terminal : undefined;
    const write = () => this.#step !== '' && !this.#terminal && writeLine(this.#step);
    this.#timer = setInterval(write, intervalMs).unref();
  }

  readonly report = (step: string): void => {
    this.#step = step;
    this.#terminal?.write(`${CLEAR_LINE}${step} …`);
  };

  /** Clears the line. */
  end(): void {
    clearInterval(this.#timer);
    if (this.#step !== '') this.#terminal?.write(CLEAR_LINE);
    this.#step = '';
  }

  [Symbol.dispose](): void {
    this.end();
  }
}
