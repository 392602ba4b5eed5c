/** The envelope: the JSON shape of every REST response, errors included. */
import { type ErrorCode, type ErrorReason, ServiceError, type Violation } from '../domain/core/errors.ts';
import { HTTP_ERRORS, type HttpError, type HttpErrorReason } from '../http/errors.ts';
import { RETRY_SOON, sendJson } from '../http/exchange.ts';
import type { HttpContext } from '../http/http-context.ts';

export interface Envelope {
  readonly status: boolean;
  readonly message: string;
  /** Only in errors. */
  readonly reason?: ErrorReason | HttpErrorReason;
  readonly data?: unknown;
  readonly errors?: readonly Violation[] | undefined;
  /** The URL of a page that says what to do. */
  readonly help?: string | undefined;
}

export function sendError(context: HttpContext, error: ServiceError | HttpError): void {
  if (!(error instanceof ServiceError)) return void sendHttpError(context, error);
  const { code, help, message, reason, violations } = error;
  // REST callers cannot set a timeout, so the body came too late.
  if (code === 'deadline_exceeded') return void sendFailure(context, 'REQUEST_TIMEOUT');
  const errors = violations.length > 0 ? violations : undefined;
  const envelope: Envelope = { status: false, message, reason, errors, help };
  const headers = code === 'unavailable' ? RETRY_SOON : {};
  sendJson(context, statusOfError(code, reason), JSON.stringify(envelope), headers);
}

/** Names the media type or the encoding that is taken instead of one that is refused (RFC 9110, section 15.5.16). */
function sendHttpError(context: HttpContext, { reason, takes }: HttpError): void {
  if (takes === undefined) return void sendFailure(context, reason);
  const { header, value } = takes;
  const errors = [{ field: header, message: `must be ${value}` }];
  const name = header === 'Content-Type' ? 'accept' : 'accept-encoding';
  sendJson(context, HTTP_ERRORS[reason][0], renderFailure(reason, errors), { [name]: value });
}

const STATUSES: Record<ErrorCode, number> = {
  aborted: 409,
  canceled: 499,
  invalid_argument: 400,
  deadline_exceeded: 408,
  not_found: 404,
  already_exists: 409,
  resource_exhausted: 429,
  failed_precondition: 409,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
  permission_denied: 403,
};

/** IDs that name one request, and came with another. 422: draft-ietf-httpapi-idempotency-key-header, section 2.7. */
const REUSED_IDS: readonly string[] = ['IDEMPOTENCY_KEY_REUSED', 'SCAN_ID_REUSED'];

export function statusOfError(code: ErrorCode, reason: string): number {
  return REUSED_IDS.includes(reason) ? 422 : STATUSES[code];
}

export function sendFailure(context: HttpContext, reason: HttpErrorReason, headers: Record<string, string> = {}): void {
  sendJson(context, HTTP_ERRORS[reason][0], renderFailure(reason), headers);
}

export function refuseMethod(context: HttpContext, allow: string): void {
  sendFailure(context, 'METHOD_NOT_ALLOWED', { allow });
}

export function renderFailure(reason: HttpErrorReason, errors?: readonly Violation[]): string {
  return JSON.stringify({ status: false, message: HTTP_ERRORS[reason][1], reason, errors } satisfies Envelope);
}
