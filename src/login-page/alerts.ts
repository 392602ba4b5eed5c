/** The alerts that pages show about problems. */
import type { ServiceError } from '../domain/core/errors.ts';
import type { Language, TextKey } from '../texts/texts.ts';
import type { CodeFigures } from './code-figures.ts';

const OTHER_PROBLEM = 'Other';
export const EMAIL_NOT_SENT = 'E-mail not sent';
/** The sign-in at the provider was cancelled, took too long, or ended in another browser. */
export const PROVIDER_REFUSED = 'Provider refused';

/** The texts of alerts, by the message of an error or the name of an invalid field. */
const ALERTS: ReadonlyMap<string, TextKey> = new Map<string, TextKey>([
  ['email', 'alert.email'],
  ['code', 'alert.code'],
  ['address', 'alert.address'],
  ['name', 'alert.name'],
  ['signature', 'alert.signature'],
  ['Too many codes', 'alert.tooManyCodes'],
  ['Code sent just now', 'alert.codeSentTooSoon'],
  ['Code sent too often', 'alert.codeSentTooOften'],
  ['Too many changes', 'alert.tooManySignIns'],
  ['Too many challenges', 'alert.tooManyChallenges'],
  ['Wrong code', 'alert.wrongCode'],
  ['Code no longer valid', 'alert.codeNotValid'],
  ['Login method not enabled', 'alert.methodNotEnabled'],
  ['Invalid signature', 'alert.invalidSignature'],
  ['Invalid passkey', 'alert.passkeyInvalid'],
  ['Passkey already exists', 'alert.passkeyAlreadyExists'],
  ['Passkey too new', 'alert.passkeyTooNew'],
  ['Too many passkeys', 'alert.tooManyPasskeys'],
  ['Unknown passkey', 'alert.unknownPasskey'],
  ['Contract wallet not supported', 'wallet.contract.unsupported'],
  ['Signature not checked', 'wallet.contract.unchecked'],
  ['Too many signatures', 'wallet.contract.tooMany'],
  ['Wallet already linked', 'alert.walletAlreadyLinked'],
  ['Identity already linked', 'alert.identityAlreadyLinked'],
  ['Unknown identity', 'alert.unknownIdentity'],
  ['Provider unavailable', 'alert.providerUnavailable'],
  ['Sign-in not fresh', 'alert.providerNotFresh'],
  ['Too many sign-ins', 'alert.tooManySignIns'],
  [PROVIDER_REFUSED, 'alert.providerRefused'],
  ['Sign-in not remembered', 'alert.signInNotRemembered'],
  ['Unknown wallet', 'alert.unknownWallet'],
  [EMAIL_NOT_SENT, 'alert.emailNotSent'],
  ['Too many logins', 'account.alert.tooManyLogins'],
  ['Wrong address', 'account.alert.wrongAddress'],
  [OTHER_PROBLEM, 'alert.other'],
]);

/** Returns the key of the alert for an error. A redirect passes it to the page in the query. */
export function problemOf({ violations, message }: ServiceError): string {
  const field = violations.find((violation) => ALERTS.has(violation.field))?.field;
  return field ?? (ALERTS.has(message) ? message : OTHER_PROBLEM);
}

/** Returns the text for the key of an alert, or an empty string. @param provider a name that some alerts show */
export function alertFor(
  problem: string,
  language: Language,
  { left }: Partial<CodeFigures> = {},
  provider = '',
): string {
  if (problem === 'Wrong code' && left) {
    return left === 1 ? language.text('alert.wrongCode.last') : language.text('alert.wrongCode.left', { count: left });
  }
  const key = ALERTS.get(problem);
  return key ? language.text(key, { duration: language.duration(20, 'minute'), provider }) : '';
}
