import type { Logger } from 'pino';
import { createLogger, formatLine } from '../log.ts';
import type { StartUsherOptions } from './test-usher.ts';

/** Registers what is to be done if the present test fails. */
export type OnFailure = (report: () => void) => void;

/** Without a way to learn of a failure, lines of failures are written as they come. */
export function createTestLogger(log: StartUsherOptions['log'] = 'silent', onFailure?: OnFailure): Logger {
  if (log === 'silent') return createLogger('silent');
  const write = (line: string) => void process.stderr.write(formatLine(line));
  if (log === 'all') return createLogger('info', { write });
  const lines: string[] = [];
  onFailure?.(() => lines.splice(0).forEach(write));
  return createLogger('warn', { write: onFailure ? (line) => void lines.push(line) : write });
}
