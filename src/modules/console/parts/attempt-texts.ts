/** Why sign-ins failed or were refused, in plain words: on the pages of users and applications, and in the audit log. */
import { INTENT_LIFETIME_MS } from '../../../domain/login/generate-auth-url.ts';
import { LOGIN_CODE_MINUTES } from '../../../domain/login/login-code.ts';
import type { AttemptReason } from '../../../domain/login/record-attempt.ts';
import { type Html, html } from '../../../http/html.ts';

/** `{application}` and `{provider}` stand for names, and `{proof}` for what the person has shown. */
interface AttemptText {
  readonly what: string;
  readonly why: string;
  /** What it is in the audit log, after the name of the person. */
  readonly event: string;
}

const GONE = 'It was removed, or its user is deactivated or deleted.';

export const ATTEMPT_TEXTS: Readonly<Record<AttemptReason, AttemptText>> = {
  ACCESS_NOT_ALLOWED: {
    what: 'May not use {application}',
    why: '{proof}',
    event: 'Was refused: may not use it',
  },
  ACCOUNT_CLOSED: { what: 'Is deactivated', why: '{proof}', event: 'Was refused: is deactivated' },
  ASSURANCE_NOT_MET: {
    what: 'Sign-in not sure enough',
    why: 'The application demands more than one factor.',
    event: 'Was refused: not sure enough',
  },
  CODE_EXPIRED: {
    what: 'Code too old',
    why: `A code works for ${String(LOGIN_CODE_MINUTES)} minutes.`,
    event: 'Typed a code that was too old',
  },
  CODE_NOT_VALID: {
    what: 'Code not valid here',
    why: 'It was sent for another browser, or the address has changed since.',
    event: 'Typed a code that is not valid',
  },
  CONTRACT_WALLET_NOT_SUPPORTED: {
    what: 'Contract wallet',
    why: 'Usher takes wallets that have a key.',
    event: 'Used a contract wallet',
  },
  IDENTITY_ALREADY_LINKED: {
    what: 'Account at a provider is taken',
    why: 'It is linked to another user.',
    event: 'Was refused: the account at the provider is taken',
  },
  INVALID_PASSKEY: {
    what: 'Passkey not accepted',
    why: 'Its answer was wrong, or came too late.',
    event: 'Used a passkey that was not accepted',
  },
  INVALID_SIGNATURE: {
    what: 'Signature not accepted',
    why: 'It does not fit the message, or came too late.',
    event: 'Sent a signature that was not accepted',
  },
  LOGIN_INTENT_COMPLETED: {
    what: 'Login already used',
    why: 'Its page was opened again, in another browser or long after the sign-in.',
    event: 'Opened a login that was used',
  },
  LOGIN_INTENT_EXPIRED: {
    what: 'Login too old',
    why: `A login works for ${String(INTENT_LIFETIME_MS / 60_000)} minutes. A bookmark of its page does not work later.`,
    event: 'Opened a login that was too old',
  },
  LOGIN_METHOD_NOT_ENABLED: {
    what: 'Way to sign in not allowed',
    why: 'The settings of {application} or of Usher do not allow it.',
    event: 'Was refused: way to sign in not allowed',
  },
  NO_ACCOUNT: {
    what: 'No account here',
    why: 'The address has none, and may not sign up. No code was sent.',
    event: 'Was refused: no account',
  },
  PASSKEY_TOO_NEW: {
    what: 'Passkey too young',
    why: 'It counts a week after it was added.',
    event: 'Was refused: passkey too young',
  },
  PROVIDER_REFUSED: {
    what: '{provider} did not let them in',
    why: 'The person cancelled there, or is not assigned to Usher there.',
    event: 'Was not let in by a provider',
  },
  PROVIDER_UNAVAILABLE: {
    what: '{provider} failed',
    why: 'It did not answer, or refused the request. The log has the cause under the request ID.',
    event: 'Was refused: the provider failed',
  },
  SIGN_IN_NOT_FRESH: {
    what: 'Sign-in not fresh',
    why: 'The application demands one of this moment, which the provider did not confirm.',
    event: 'Was refused: sign-in not fresh',
  },
  SIGN_IN_NOT_REMEMBERED: {
    what: 'Remembered sign-in has ended',
    why: 'It can be replaced by a new sign-in.',
    event: 'Continued a sign-in that had ended',
  },
  TOO_MANY_CODES: {
    what: 'Too many codes',
    why: 'The address or its network has asked for too many.',
    event: 'Was refused: too many codes',
  },
  TOO_MANY_SIGN_INS: {
    what: 'Too many sign-ins',
    why: 'The network has tried too often.',
    event: 'Was refused: too many sign-ins',
  },
  UNKNOWN_IDENTITY: {
    what: '{provider}: account unknown here',
    why: `No user has linked it. ${GONE}`,
    event: 'Used an unknown account at a provider',
  },
  UNKNOWN_PASSKEY: { what: 'Passkey unknown here', why: GONE, event: 'Used an unknown passkey' },
  UNKNOWN_WALLET: {
    what: 'Wallet unknown here',
    why: `No user has linked it. ${GONE}`,
    event: 'Used an unknown wallet',
  },
  USER_NOT_FOUND: {
    what: 'No account here',
    why: 'It ended during the sign-in, or nobody may sign up any more.',
    event: 'Was refused: no account',
  },
  WALLET_ALREADY_LINKED: {
    what: 'Wallet is taken',
    why: 'It is linked to another user.',
    event: 'Was refused: the wallet is taken',
  },
  WRONG_CODES: {
    what: 'Five wrong codes',
    why: 'The code of the e-mail is used up. A new one works.',
    event: 'Typed five wrong codes',
  },
  WRONG_SECOND_FACTOR: {
    what: 'Wrong code of the second factor',
    why: '{proof} The code of the authenticator app, or the recovery code, was wrong.',
    event: 'Typed a wrong code of the second factor',
  },
};

const PROOFS: Readonly<Record<string, string>> = {
  email: 'The code of the e-mail was right.',
  passkey: 'The passkey was right.',
  wallet: 'The signature was right.',
  page: 'The application’s own login page had let them in.',
  recovery: 'They had used a recovery link.',
  remembered: 'They were signed in in this browser.',
};

interface Shown {
  readonly reason: string;
  readonly method: string | null;
}

/** Renders both lines: what happened, and why. The reason may be one of another version. */
export function describeAttempt(
  { reason, method }: Shown,
  { application, provider }: { readonly application: Html; readonly provider: Html | undefined },
): { readonly what: Html; readonly why: Html } {
  const { what, why } = (ATTEMPT_TEXTS as Readonly<Record<string, AttemptText>>)[reason] ?? {
    what: reason.replaceAll('_', ' ').toLowerCase(),
    why: '',
  };
  const proof = PROOFS[method ?? ''] ?? 'The provider had let them in.';
  // The texts are constants, whose braces hold names of these.
  const values: Readonly<Record<string, Html | string>> = { application, provider: provider ?? 'The provider', proof };
  const fill = (text: string) =>
    html`${text.split(/[{}]/).map((part, index) => html`${index % 2 ? values[part] : part}`)}`;
  return { what: fill(what), why: fill(why) };
}
