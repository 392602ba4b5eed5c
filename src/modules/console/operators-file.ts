/** Reads `OPERATORS_FILE` again when it changes, so that new lines take effect without a restart. */
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { toEmailKey } from '../../config/email-address.ts';
import { watchFiles } from '../../jobs/watch-files.ts';
import { type Operator, type Operators, parseOperators } from './operators.ts';

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

/**
 * Returns a function that says whether a line of the file demands that the person signs in with a passkey. It reads the
 * file each time, because it is asked only about passkeys that are new. Somebody may be writing the file, so the
 * operators of the read before count as well, and alone if a line is malformed.
 */
export function createPasskeyDemand({
  operators,
  operatorsFile: path,
}: {
  readonly operators?: Operators | undefined;
  readonly operatorsFile?: string | undefined;
}): (email: string) => boolean {
  let last = operators;
  return (email) => {
    const before = last;
    if (path !== undefined) last = readOperators(path) ?? before;
    return [before, last].some((each) => each?.get(toEmailKey(email))?.needsPasskey);
  };
}

function readOperators(path: string): Operators | undefined {
  try {
    return parseOperators(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
