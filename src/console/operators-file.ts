/** Reads `OPERATORS_FILE` again, so that a new line counts without a restart. */
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { type Operator, type Operators, parseOperators } from '../config/operators.ts';
import { pause } from '../domain/pause.ts';

/** Polls, as certificates are polled. */
const INTERVAL_MS = 2_000;

export class OperatorsFile {
  #operators: Operators;
  readonly #path: string | undefined;
  readonly #logger: Logger;

  constructor(operators: Operators, path: string | undefined, logger: Logger) {
    this.#operators = operators;
    this.#path = path;
    this.#logger = logger;
  }

  /** Returns the operator with the e-mail address, in whatever case. */
  find(email: string): Operator | undefined {
    return this.#operators.get(email.toLowerCase());
  }

  /** Uses the file whenever it changes, until the signal is aborted. With a wrong line, the previous operators stay. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#path === undefined) return;
    let seen: string | undefined;
    while (!signal.aborted) {
      const found = await readFile(this.#path, 'utf8').catch((error: Error) => error);
      const state = found instanceof Error ? found.message : found;
      if (state !== seen) this.#use(found, seen === undefined);
      seen = state;
      await pause(INTERVAL_MS, signal);
    }
  }

  #use(found: string | Error, isFirst: boolean): void {
    try {
      if (found instanceof Error) throw found;
      this.#operators = parseOperators(found);
      if (!isFirst) this.#logger.info({ operators: this.#operators.size }, 'operators read');
    } catch (error) {
      this.#logger.error({ err: error }, 'operators not read');
    }
  }
}
