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
  TOO_MANY_CHALLENGES: ['resource_exhausted', 'Too many challenges'],
  TOO_MANY_CHANGES: ['resource_exhausted', 'Too many changes'],
  TOO_MANY_CODES: ['resource_exhausted', 'Too many codes'],
  TOO_MANY_PASSKEYS: ['failed_precondition', 'Too many passkeys'],
  RECOVERY_LINK_NOT_VALID: ['not_found', 'Recovery link no longer valid'],
  TOO_MANY_SIGN_INS: ['resource_exhausted', 'Too many sign-ins'],
  UNKNOWN_IDENTITY: ['not_found', 'Unknown identity'],
  UNKNOWN_PASSKEY: ['not_found', 'Unknown passkey'],
  UNKNOWN_WALLET: ['not_found', 'Unknown wallet'],
  SIGN_IN_NOT_REMEMBERED: ['unauthenticated', 'Sign-in not remembered'],
  WRONG_CODE: ['unauthenticated', 'Wrong code'],
  HELD_SIGN_IN_ENDED: ['unauthenticated', 'The first step has expired'],
  SECOND_FACTOR_NEEDED: ['failed_precondition', 'Second factor needed'],
  SECOND_FACTOR_USED: ['failed_precondition', 'Code already used; wait for the next one'],
  TOO_MANY_ATTEMPTS: ['resource_exhausted', 'Too many attempts'],
  WRONG_SECOND_FACTOR: ['unauthenticated', 'Wrong code of the second factor'],

  // Errors of the console.
  CHANGED_MEANWHILE: ['failed_precondition', 'Changed meanwhile'],
} as const satisfies Record<string, readonly [code: string, message: string]>;

/**
 * The errors of calls by their reasons. Clients match the reason, so it never changes. Each error also has a row in the
 * table of `src/api/README.md`.
 */
const CALL_ERRORS = {
  VALIDATION_FAILED: ['invalid_argument', 'Validation failed'],
  CLIENT_ID_MISMATCH: ['invalid_argument', 'Client ID mismatch'],
  INVALID_REDIRECT_URI: ['invalid_argument', 'Invalid redirect URI'],
  INVALID_LOGO: ['invalid_argument', 'Invalid logo'],
  INVALID_WEBHOOK_ID: ['invalid_argument', 'Invalid webhook ID format'],
  INVALID_TIMEOUT: ['invalid_argument', 'Invalid timeout'],
  INVALID_IDEMPOTENCY_KEY: ['invalid_argument', 'Invalid idempotency key'],

  INVALID_API_KEY: ['unauthenticated', 'Invalid API key'],
  INVALID_ADMIN_KEY: ['unauthenticated', 'Invalid admin key'],
  INVALID_TOKEN: ['unauthenticated', 'Invalid or expired token'],
  SESSION_EXPIRED: ['unauthenticated', 'Session expired'],
  ACCESS_NOT_ALLOWED: ['permission_denied', 'Access not allowed'],
  MISSING_RIGHT: ['permission_denied', 'Missing right'],
  INVITATIONS_NOT_ALLOWED: ['permission_denied', 'Invitations not allowed'],
  APPLICATION_DELETED: ['unauthenticated', 'Application not found'],

  API_KEY_NOT_FOUND: ['not_found', 'API key not found'],
  APPLICATION_NOT_FOUND: ['not_found', 'Application not found'],
  CHECK_IN_NOT_FOUND: ['not_found', 'Check-in not found'],
  DELIVERY_NOT_FOUND: ['not_found', 'Delivery not found'],
  EVENT_NOT_FOUND: ['not_found', 'Event not found'],
  GROUP_NOT_FOUND: ['not_found', 'Group not found'],
  INVITATION_NOT_FOUND: ['not_found', 'Invitation not found'],
  LOGIN_INTENT_NOT_FOUND: ['not_found', 'Login intent not found'],
  PASSKEY_NOT_FOUND: ['not_found', 'Passkey not found'],
  RECOVERY_LINK_NOT_FOUND: ['not_found', 'Recovery link not found'],
  USER_NOT_FOUND: ['not_found', 'User not found'],
  WEBHOOK_NOT_FOUND: ['not_found', 'Webhook not found'],

  EVENT_ALREADY_EXISTS: ['already_exists', 'Event already exists'],
  EXTERNAL_ID_ALREADY_EXISTS: ['already_exists', 'External ID already exists'],
  GROUP_ALREADY_EXISTS: ['already_exists', 'Group already exists'],
  RESOURCE_ALREADY_EXISTS: ['already_exists', 'Resource already exists'],
  USER_ALREADY_EXISTS: ['already_exists', 'User already exists'],
  IDENTITY_ALREADY_LINKED: ['already_exists', 'Identity already linked'],
  WALLET_ALREADY_LINKED: ['already_exists', 'Wallet already linked'],

  IDEMPOTENCY_KEY_REUSED: ['failed_precondition', 'Idempotency key used for another request'],
  IDEMPOTENCY_KEY_IN_USE: ['aborted', 'Call with this idempotency key is running'],

  MANAGED_BY_FILE: ['failed_precondition', 'Managed by file'],
  API_KEY_REPLACED: ['failed_precondition', 'API key already replaced'],
  LOGIN_INTENT_COMPLETED: ['failed_precondition', 'Login intent already completed'],
  LOGIN_INTENT_EXPIRED: ['failed_precondition', 'Login intent expired'],
  SIGN_IN_NOT_FRESH: ['failed_precondition', 'Sign-in not fresh'],
  ASSURANCE_NOT_MET: ['failed_precondition', 'Assurance not met'],

  TOO_MANY_GROUPS: ['resource_exhausted', 'Too many groups'],
  ATTENDEE_BLOCKED: ['failed_precondition', 'Attendee blocked'],
  ATTENDEE_NOT_LISTED: ['failed_precondition', 'Attendee not listed'],
  CURSOR_EXPIRED: ['failed_precondition', 'Cursor expired'],
  EVENT_ENDED: ['failed_precondition', 'Event has ended'],
  EVENT_FULL: ['failed_precondition', 'Event is full'],
  EVENT_NOT_STARTED: ['failed_precondition', 'Event has not started'],
  MESSAGE_FEED_OFF: ['failed_precondition', 'Message feed is off'],
  SCAN_ID_REUSED: ['failed_precondition', 'Scan ID used for another attendee'],
  SCAN_TIME_OUT_OF_RANGE: ['failed_precondition', 'Scan time out of range'],

  TOO_MANY_ATTENDEES: ['resource_exhausted', 'Too many attendees'],
  MAIL_NOT_CONFIGURED: ['failed_precondition', 'Mail not configured'],
  TOO_MANY_INVITATIONS: ['resource_exhausted', 'Too many invitations'],
  TOO_MANY_SIGNING_KEYS: ['failed_precondition', 'Too many signing keys'],
  TOO_MANY_WEBHOOKS: ['resource_exhausted', 'Too many webhooks'],
  WEBHOOK_NOT_ACTIVE: ['failed_precondition', 'Webhook is not active'],

  NO_ACCOUNT_PAGE: ['failed_precondition', 'No account page'],
  TOO_MANY_RECOVERY_LINKS: ['resource_exhausted', 'Too many recovery links'],
  USER_HAS_SIGNED_IN: ['failed_precondition', 'User has signed in'],
  USER_IS_OPERATOR: ['failed_precondition', 'User is an operator'],
  USER_NOT_ACTIVE: ['failed_precondition', 'User not active'],

  HTTP2_REQUIRED: ['unimplemented', 'This method needs HTTP/2'],
  TOO_MANY_MESSAGES: ['resource_exhausted', 'Too many messages on one stream'],
  TOO_MANY_STREAMS: ['resource_exhausted', 'Too many open streams'],
  UNKNOWN_METHOD: ['unimplemented', 'Unknown method'],

  CANCELED: ['canceled', 'The stream has been reset'],
  COMPRESSED_WITHOUT_ENCODING: ['internal', 'Compressed message without an encoding'],
  DEADLINE_EXCEEDED: ['deadline_exceeded', 'Deadline exceeded'],
  INTERNAL_ERROR: ['internal', 'Internal error'],
  MESSAGE_TOO_LARGE: ['resource_exhausted', 'Message too large'],
  PROTOCOL_ERROR: ['unimplemented', 'Protocol error'],
  SERVICE_UNAVAILABLE: ['unavailable', 'Service unavailable'],
  UNKNOWN_SERVICE: ['not_found', 'Unknown service'],
} as const satisfies Record<string, readonly [code: string, message: string]>;

export const ERRORS = { ...CALL_ERRORS, ...PAGE_ERRORS };

export type ErrorReason = keyof typeof ERRORS;

/** The canonical codes of gRPC that Usher answers with. */
export type ErrorCode = (typeof ERRORS)[ErrorReason][0];

/** What is wrong with one field of a request. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

interface ErrorOptions {
  readonly violations?: readonly Violation[];
  /** For the log only. It must contain no value that a caller has sent. */
  readonly detail?: string | undefined;
  /** Replaces the documented message. */
  readonly message?: string;
  /** Numbers that the login page shows. */
  readonly figures?: Readonly<Record<string, number>>;
  readonly attempt?: RefusedAttempt | undefined;
}

/** What a refused sign-in has shown. */
interface RefusedAttempt {
  /** The user about whom it has proved something. */
  readonly userId?: string | null;
  /** How the first step was taken, if the second was refused. */
  readonly method?: string;
  /** Why it was refused, if the reason of the error does not say it. */
  readonly cause?: AttemptCause;
}

/** Why a sign-in was refused, beyond the reasons of errors. */
export type AttemptCause = 'CODE_EXPIRED' | 'NO_ACCOUNT' | 'PROVIDER_REFUSED' | 'WRONG_CODES';

/** A documented error. Each edge maps its code to the protocol. Callers see its reason and message unchanged. */
export class ServiceError extends Error {
  readonly reason: ErrorReason;
  readonly code: ErrorCode;
  readonly violations: readonly Violation[];
  readonly detail: string | undefined;
  readonly figures: Readonly<Record<string, number>>;
  attempt: RefusedAttempt | undefined;
  /** The URL of a page that says what to do. The edge of the API sets it. */
  help: string | undefined;

  constructor(reason: ErrorReason, { violations = [], detail, message, figures = {}, attempt }: ErrorOptions = {}) {
    const [code, text] = ERRORS[reason];
    super(message ?? text);
    this.reason = reason;
    this.code = code;
    this.violations = violations;
    this.detail = detail;
    this.figures = figures;
    this.attempt = attempt;
  }
}

export function hasReason(error: unknown, reason: ErrorReason): error is ServiceError {
  return Object(error).reason === reason;
}

export function invalidField(field: string, message: string): ServiceError {
  return new ServiceError('VALIDATION_FAILED', { violations: [{ field, message }] });
}
