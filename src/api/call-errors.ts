/** Errors that end a call, in the form that an edge can answer. */
import type { Logger } from 'pino';
import { DatabaseUnavailableError, DeadlinePassedError } from '../database/pool/database.ts';
import { type ErrorReason, invalidField, ServiceError } from '../domain/core/errors.ts';
import { HttpError } from '../http/errors.ts';
import type { CallInfo, CallOutcome } from './call-info.ts';

/**
 * Returns the error to answer with: documented errors as they are, an unavailable dependency as
 * `Service unavailable`, and anything else as `Internal error` after it has been logged.
 */
export function toCallError(error: unknown, call: CallInfo, logger: Logger): ServiceError | HttpError {
  if (error instanceof ServiceError) return withHelp(error, call);
  if (error instanceof HttpError) return error;
  if (error instanceof DatabaseUnavailableError) {
    const isTimeout = error.cause instanceof DeadlinePassedError;
    return call.isCallersDeadline && isTimeout ? deadlineExceeded(error.reason) : unavailable(error.reason);
  }
  logger.error({ err: error, requestId: call.requestId, method: call.name }, 'unexpected error');
  return new ServiceError('INTERNAL_ERROR');
}

/** Errors of the first day. Their rows in the table of `/docs/errors` say what to do. */
const EXPLAINED: readonly ErrorReason[] = ['INVALID_API_KEY', 'INVALID_ADMIN_KEY', 'INVALID_REDIRECT_URI'];

/** Sets where to read on. */
export function withHelp(error: ServiceError, { errorsUrl }: Pick<CallInfo, 'errorsUrl'>): ServiceError {
  if (EXPLAINED.includes(error.reason)) error.help = `${errorsUrl}#error-${error.reason}`;
  return error;
}

export function outcomeOf(error: ServiceError | HttpError): CallOutcome {
  // gRPC demands `INTERNAL` for this mistake of a client, which must not raise the alert for defects.
  if (error.reason === 'COMPRESSED_WITHOUT_ENCODING') return { code: 'invalid_argument', reason: error.reason };
  if (error instanceof ServiceError) return error;
  return { code: error.status === 408 ? 'deadline_exceeded' : 'invalid_argument', reason: error.reason };
}

/** `detail` is for the log. */
export function unavailable(detail?: string): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', { detail });
}

/** `detail` is for the log. */
export function deadlineExceeded(detail?: string): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', { detail });
}

export function malformedMessage(): ServiceError {
  return invalidField('body', 'must be a well-formed message');
}
