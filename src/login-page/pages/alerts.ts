/** The alerts that pages show about problems. */
import type { ErrorReason, ServiceError } from '../../domain/core/errors.ts';
import { LOGIN_CODE_MINUTES } from '../../domain/login/login-code.ts';
import type { Language, TextKey } from '../../texts/texts.ts';

/** The texts of alerts, by the name of an invalid field. */
const OF_FIELDS = {
  email: 'alert.email',
  code: 'alert.code',
  address: 'alert.address',
  name: 'alert.name',
  signature: 'alert.signature',
} as const satisfies Record<string, TextKey>;

/** The texts of alerts, by the reason of an error. */
const OF_ERRORS = {
  TOO_MANY_CODES: 'alert.tooManyCodes',
  CODE_SENT_JUST_NOW: 'alert.codeSentTooSoon',
  CODE_SENT_TOO_OFTEN: 'alert.codeSentTooOften',
  TOO_MANY_CHANGES: 'alert.tooManySignIns',
  TOO_MANY_CHALLENGES: 'alert.tooManyChallenges',
  HELD_SIGN_IN_ENDED: 'alert.heldSignInEnded',
  SECOND_FACTOR_USED: 'alert.secondFactorUsed',
  TOO_MANY_ATTEMPTS: 'alert.tooManyAttempts',
  WRONG_SECOND_FACTOR: 'alert.wrongSecondFactor',
  WRONG_CODE: 'alert.wrongCode',
  CODE_NOT_VALID: 'alert.codeNotValid',
  LOGIN_METHOD_NOT_ENABLED: 'alert.methodNotEnabled',
  ASSURANCE_NOT_MET: 'alert.assuranceNotMet',
  INVALID_SIGNATURE: 'alert.invalidSignature',
  INVALID_PASSKEY: 'alert.passkeyInvalid',
  PASSKEY_ALREADY_EXISTS: 'alert.passkeyAlreadyExists',
  PASSKEY_TOO_NEW: 'alert.passkeyTooNew',
  TOO_MANY_PASSKEYS: 'alert.tooManyPasskeys',
  UNKNOWN_PASSKEY: 'alert.unknownPasskey',
  CONTRACT_WALLET_NOT_SUPPORTED: 'wallet.contract.unsupported',
  WALLET_ALREADY_LINKED: 'alert.walletAlreadyLinked',
  IDENTITY_ALREADY_LINKED: 'alert.identityAlreadyLinked',
  UNKNOWN_IDENTITY: 'alert.unknownIdentity',
  PROVIDER_UNAVAILABLE: 'alert.providerUnavailable',
  SIGN_IN_NOT_FRESH: 'alert.providerNotFresh',
  TOO_MANY_SIGN_INS: 'alert.tooManySignIns',
  SIGN_IN_NOT_REMEMBERED: 'alert.signInNotRemembered',
  UNKNOWN_WALLET: 'alert.unknownWallet',
} as const satisfies Partial<Record<ErrorReason, TextKey>>;

/** The texts of alerts about problems that only pages know. */
const OF_PAGES = {
  EMAIL_NOT_SENT: 'alert.emailNotSent',
  // The sign-in at the provider was cancelled, took too long, or ended in another browser.
  PROVIDER_REFUSED: 'alert.providerRefused',
  // The login demands a second factor. The page offers to ask the provider once more.
  PROVIDER_ONE_FACTOR: 'alert.providerOneFactor',
  PROVIDER_ONE_FACTOR_AGAIN: 'alert.providerOneFactor',
  PROVIDER_TOO_NEW: 'alert.providerTooNew',
  TOO_MANY_LOGINS: 'account.alert.tooManyLogins',
  WRONG_ADDRESS: 'account.alert.wrongAddress',
  OTHER: 'alert.other',
} as const satisfies Record<string, TextKey>;

const ALERTS = { ...OF_FIELDS, ...OF_ERRORS, ...OF_PAGES };

/** Identifies an alert in the query of a redirect. */
export type AlertKey = keyof typeof ALERTS;

/** Returns the key of the alert for an error. A redirect passes it to the page in the query. */
export function alertKeyOf({ violations, reason }: ServiceError): AlertKey {
  return [...violations.map(({ field }) => field), reason].find(isAlertKey) ?? 'OTHER';
}

/** Returns the text for the key of an alert, or an empty string. @param provider a name that some alerts show */
export function alertFor(
  key: string,
  language: Language,
  { left, minutes = 1 }: Partial<CodeFigures> = {},
  provider = '',
): string {
  if (!isAlertKey(key)) return '';
  if (key === 'WRONG_CODE' && left) {
    return left === 1 ? language.text('alert.wrongCode.last') : language.text('alert.wrongCode.left', { count: left });
  }
  return language.text(ALERTS[key], { duration: language.duration(minutes, 'minute'), provider });
}

export function isAlertKey(key: string): key is AlertKey {
  return Object.hasOwn(ALERTS, key);
}

/** The numbers in the query of a page about a code. The forms of the page for the code send them back. */
export interface CodeFigures {
  /** 6 or 8. */
  readonly digits: number;
  /** The attempts that are left after a wrong code, or 0 before one. */
  readonly left: number;
  /** The seconds until the code may be sent again, or 0. */
  readonly wait: number;
  /** The minutes after which another code may be requested, if too many were. */
  readonly minutes?: number;
}

/** No code lives longer. */
const MAX_WAIT_SECONDS = LOGIN_CODE_MINUTES * 60;
const MAX_MINUTES = 60;

/** Reads and limits the numbers: anybody can write the query. */
export function readCodeFigures(field: (name: string) => string): CodeFigures {
  const numberOf = (name: string, max: number) => Math.min(max, Number(/^\d{1,4}$/.exec(field(name))?.[0] ?? 0));
  const digits = numberOf('digits', 8);
  return {
    digits: digits === 8 ? 8 : 6,
    left: numberOf('left', 4),
    wait: numberOf('wait', MAX_WAIT_SECONDS),
    minutes: numberOf('minutes', MAX_MINUTES) || 1,
  };
}
