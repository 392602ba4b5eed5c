import type { ErrorCode } from '../../../domain/core/errors.ts';

/**
 * The errors of OpenID Connect by their standard names: the code that Usher logs, the HTTP status if the error is not
 * sent by a redirect, and a description. A new error is a row here, and one in the table of `src/api/README.md`.
 */
export const OIDC_ERRORS = {
  invalid_request: ['invalid_argument', 400, 'The request is malformed'],
  invalid_client: ['unauthenticated', 401, 'The client is not known, or its secret is wrong'],
  invalid_grant: ['failed_precondition', 400, 'The code or refresh token is not valid'],
  unauthorized_client: ['failed_precondition', 400, 'The client may not use OpenID Connect'],
  unsupported_grant_type: ['invalid_argument', 400, 'The grant type is not supported'],
  invalid_target: ['invalid_argument', 400, 'The resource is not known, or not open to the client'],
  invalid_scope: ['invalid_argument', 400, 'The scope is not valid'],
  invalid_token: ['unauthenticated', 401, 'The access token is not valid'],
  insufficient_scope: ['permission_denied', 403, 'The access token lacks the scope openid'],
  unsupported_response_type: ['invalid_argument', 400, 'The only response type is code'],
  request_not_supported: ['invalid_argument', 400, 'Request objects are not supported'],
  request_uri_not_supported: ['invalid_argument', 400, 'Request objects are not supported'],
  registration_not_supported: ['invalid_argument', 400, 'Registration is not supported'],
  access_denied: ['permission_denied', 400, 'The user may not use the application'],
  authorization_pending: ['failed_precondition', 400, 'The person has not decided yet'],
  slow_down: ['failed_precondition', 400, 'The device asks too often, and must wait 5 seconds longer from now on'],
  expired_token: ['failed_precondition', 400, 'The device code has expired'],
  consent_required: ['failed_precondition', 400, 'The user has to consent'],
  login_required: ['failed_precondition', 400, 'The user has to sign in'],
  temporarily_unavailable: ['unavailable', 503, 'Usher is not available'],
  server_error: ['internal', 500, 'Internal error'],
} as const satisfies Record<string, readonly [code: ErrorCode, status: number, description: string]>;

export type OidcErrorName = keyof typeof OIDC_ERRORS;

interface Options {
  /** Replaces the description of the error. It must not quote the request. */
  readonly description?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  /** For the log only. */
  readonly detail?: string | undefined;
}

/** An error in the form of OAuth 2.0 (RFC 6749, section 5.2). Its description is the message. */
export class OidcError extends Error {
  readonly reason: OidcErrorName;
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly detail: string | undefined;

  constructor(reason: OidcErrorName, { description, headers = {}, status, detail }: Options = {}) {
    const [code, usualStatus, text] = OIDC_ERRORS[reason];
    super(description ?? text);
    this.reason = reason;
    this.code = code;
    this.status = status ?? usualStatus;
    this.headers = headers;
    this.detail = detail;
  }
}
