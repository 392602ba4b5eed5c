/** What to tell a person about what went wrong with a form. */
import type { ServiceError } from '../domain/errors.ts';

const OTHER_PROBLEM = 'Other';

/** By the message of the error, or by the field that is wrong. */
const ALERTS: ReadonlyMap<string, string> = new Map([
  ['email', 'Please enter an e-mail address, such as ada@example.com.'],
  ['code', 'Please enter the six digits from the e-mail.'],
  ['address', 'Your wallet did not tell its address. Please try again.'],
  ['signature', 'Your wallet did not sign. Please try again.'],
  ['Too many codes', 'Too many codes have been asked for. Please try again in an hour.'],
  ['Too many challenges', 'Your wallet has been asked too often. Go back to the application and sign in again.'],
  ['Wrong code', 'That is not the code we sent. Please check it and try again.'],
  ['Code no longer valid', 'This code is not valid any more. Please send a new one.'],
  ['Invalid signature', 'The signature does not match. Please try again.'],
  ['Unknown wallet', 'No account has this wallet. Please use another one, or your e-mail address.'],
  [OTHER_PROBLEM, 'That did not work. Please try again.'],
]);

/** The name of what went wrong, which a page gets in its query. */
export function problemOf({ violations, message }: ServiceError): string {
  const field = violations.find((violation) => ALERTS.has(violation.field))?.field;
  return field ?? (ALERTS.has(message) ? message : OTHER_PROBLEM);
}

/** Empty for a name that is not ours. */
export function alertFor(problem: string): string {
  return ALERTS.get(problem) ?? '';
}
