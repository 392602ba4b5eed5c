/** What the console of the embedded mode does without settings. */
import type { Operators } from '../config/operators.ts';

const email = 'operator@example.com';

/** Who may use it. */
export const TRIAL_OPERATORS: Operators = new Map([
  [email, { email, role: 'admin', applicationIds: [], needsPasskey: false }],
]);

/** Returns the port after that of Usher, or 0 for any. */
export function defaultConsolePort(port: number): number {
  return port === 0 || port === 65_535 ? 0 : port + 1;
}
