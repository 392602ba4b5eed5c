/** The errors that only the login page and the console show, by their reasons. The README lists them, like those of calls. */
export const PAGE_ERRORS = {
  ACCOUNT_CLOSED: ['failed_precondition', 'Account closed'],
  CODE_NOT_VALID: ['unauthenticated', 'Code no longer valid'],
  CODE_SENT_JUST_NOW: ['resource_exhausted', 'Code sent just now'],
  CODE_SENT_TOO_OFTEN: ['resource_exhausted', 'Code sent too often'],
  CONTRACT_WALLET_NOT_SUPPORTED: ['failed_precondition', 'Contract wallet not supported'],
  INVALID_PASSKEY: ['unauthenticated', 'Invalid passkey'],
  LOGIN_METHOD_NOT_ENABLED: ['failed_precondition', 'Login method not enabled'],
  INVALID_SIGNATURE: ['unauthenticated', 'Invalid signature'],
  PASSKEY_TOO_NEW: ['failed_precondition', 'Passkey too new'],
  PASSKEY_ALREADY_EXISTS: ['already_exists', 'Passkey already exists'],
  PROVIDER_UNAVAILABLE: ['unavailable', 'Provider unavailable'],
  SIGNATURE_NOT_CHECKED: ['unavailable', 'Signature not checked'],
  TOO_MANY_CHALLENGES: ['resource_exhausted', 'Too many challenges'],
  TOO_MANY_CHANGES: ['resource_exhausted', 'Too many changes'],
  TOO_MANY_CODES: ['resource_exhausted', 'Too many codes'],
  TOO_MANY_PASSKEYS: ['failed_precondition', 'Too many passkeys'],
  TOO_MANY_SIGN_INS: ['resource_exhausted', 'Too many sign-ins'],
  TOO_MANY_SIGNATURES: ['resource_exhausted', 'Too many signatures'],
  UNKNOWN_IDENTITY: ['not_found', 'Unknown identity'],
  UNKNOWN_PASSKEY: ['not_found', 'Unknown passkey'],
  UNKNOWN_WALLET: ['not_found', 'Unknown wallet'],
  SIGN_IN_NOT_REMEMBERED: ['unauthenticated', 'Sign-in not remembered'],
  WRONG_CODE: ['unauthenticated', 'Wrong code'],

  // Errors of the console.
  CHANGED_MEANWHILE: ['failed_precondition', 'Changed meanwhile'],
} as const satisfies Record<string, readonly [code: string, message: string]>;
