/** Reads `OPERATORS_FILE` again when it changes, so that new lines take effect without a restart. */
import type { Logger } from 'pino';
import { toEmailKey } from '../../config/email-address.ts';
import { type Operator, type Operators, parseOperators } from '../../config/operators.ts';
import { watchFiles } from '../../jobs/watch-files.ts';

export class OperatorsFile {
  #operators: Operators;
  #isRead = true;
  readonly #path: string | undefined;
  readonly #logger: Logger;

  constructor(operators: Operators, path: string | undefined, logger: Logger) {
    this.#operators = operators;
    this.#path = path;
    this.#logger = logger;
  }

  /** Returns the operator with the e-mail address. Ignores the case of ASCII letters. */
  find(email: string): Operator | undefined {
    return this.#operators.get(toEmailKey(email));
  }

  /** Whether the operators are those of the file now. With a malformed line, the previous ones stay. */
  get isRead(): boolean {
    return this.#isRead;
  }

  get size(): number {
    return this.#operators.size;
  }

  /** Reads the file whenever it changes, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#path === undefined) return;
    await watchFiles([this.#path], {
      signal,
      use: (text = '') => {
        this.#operators = parseOperators(text);
        this.#isRead = true;
      },
      onUsed: () => this.#logger.info({ operators: this.#operators.size }, 'operators read'),
      onError: (error) => {
        this.#isRead = false;
        this.#logger.error({ err: error }, 'operators not read');
      },
    });
  }
}
