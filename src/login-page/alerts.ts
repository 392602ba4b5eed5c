/** The messages that a form shows about a problem. */
import type { ServiceError } from '../domain/errors.ts';

const OTHER_PROBLEM = 'Other';

/** Alerts by the message of an error, or by the name of an invalid field. */
const ALERTS: ReadonlyMap<string, string> = new Map([
  ['email', 'Please enter an e-mail address, such as ada@example.com.'],
  ['code', 'Please enter the digits from the e-mail.'],
  ['address', 'Your wallet did not share its address. Please try again.'],
  ['name', 'Please enter your name.'],
  ['signature', 'Your wallet did not sign. Please try again.'],
  [
    'Too many codes',
    'Too many codes were requested. Please try again in 20 minutes, or in a browser where you have signed in before.',
  ],
  ['Code sent too often', 'We have sent this code three times. Please look for it among your unwanted e-mails.'],
  ['Too many challenges', 'Too many signatures were requested. Go back to the application and sign in again.'],
  ['Wrong code', 'That is not the code we sent. Please check it and try again.'],
  ['Code no longer valid', 'This code is not valid any more. Please have a new one sent.'],
  ['Invalid signature', 'The signature does not match. Please try again.'],
  ['Wallet already linked', 'Another account has this wallet.'],
  ['Unknown wallet', 'No account has this wallet. Please use another one, or your e-mail address.'],
  [OTHER_PROBLEM, 'That did not work. Please try again.'],
]);

/** Returns the key of the alert, which the query of the page carries. */
export function problemOf({ violations, message }: ServiceError): string {
  const field = violations.find((violation) => ALERTS.has(violation.field))?.field;
  return field ?? (ALERTS.has(message) ? message : OTHER_PROBLEM);
}

/** Returns an empty string for an unknown key. */
export function alertFor(problem: string): string {
  return ALERTS.get(problem) ?? '';
}
