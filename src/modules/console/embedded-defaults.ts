/** Defaults of the console with embedded Postgres. */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Operator, Operators } from '../../config/operators.ts';

/** Returns the port after that of the API, or 0 for any free port. */
export function defaultConsolePort(port: number): number {
  return port === 0 || port === 65_535 ? 0 : port + 1;
}

/** Returns the operator to sign in when nobody is named: the first admin who needs no passkey. */
export function findFirstAdmin(operators: Operators): Operator | undefined {
  return [...operators.values()].find(({ role, needsPasskey }) => role === 'admin' && !needsPasskey);
}

/** The file that holds the URL of the console: its port depends on which ports were free. */
export function consoleUrlFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'console-url');
}
