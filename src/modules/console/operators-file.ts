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
 * Returns whether a line of the file says that the person must sign in with a passkey. Reads the file each time: it is
 * asked only about passkeys that are new. With a malformed line, the lines of the start count.
 */
export function demandsPasskey(
  {
    operators,
    operatorsFile,
  }: { readonly operators?: Operators | undefined; readonly operatorsFile?: string | undefined },
  email: string,
): boolean {
  return readOperators(operators, operatorsFile)?.get(toEmailKey(email))?.needsPasskey ?? false;
}

function readOperators(operators: Operators | undefined, path: string | undefined): Operators | undefined {
  if (path === undefined) return operators;
  try {
    return parseOperators(readFileSync(path, 'utf8'));
  } catch {
    return operators;
  }
}
