/** Defaults of the console with embedded Postgres. */
import type { Operators } from './operators.ts';

const email = 'operator@example.com';

/** The only operator, until `OPERATORS_FILE` is set. */
export const TRIAL_OPERATORS: Operators = new Map([
  [email, { email, role: 'admin', applicationIds: [], needsPasskey: false }],
]);

/** Returns the port after that of the API, or 0 for any free port. */
export function defaultConsolePort(port: number): number {
  return port === 0 || port === 65_535 ? 0 : port + 1;
}
