/** Every error that ends a call, as one that an edge can answer. */
import type { Logger } from 'pino';
import { DatabaseUnavailableError, DeadlinePassedError } from '../database/database.ts';
import { type ErrorCode, ServiceError } from '../domain/errors.ts';
import { IssuerUnavailableError } from '../domain/login/external-issuer.ts';
import { HttpError } from '../http/read-body.ts';
import type { Call } from './call.ts';

/**
 * Returns the error to answer with: documented errors as they are, an unavailable dependency as
 * `Service unavailable`, and anything else as `Internal error` after it has been logged.
 */
export function toCallError(error: unknown, call: Call, logger: Logger): ServiceError | HttpError {
  if (error instanceof ServiceError || error instanceof HttpError) return error;
  if (error instanceof DatabaseUnavailableError) {
    const isTimeout = error.cause instanceof DeadlinePassedError;
    return call.isCallersDeadline && isTimeout ? deadlineExceeded(error.reason) : unavailable(error.reason);
  }
  if (error instanceof IssuerUnavailableError) return unavailable(error.message);
  logger.error({ err: error, requestId: call.requestId, method: call.name }, 'unexpected error');
  return new ServiceError('internal', 'Internal error');
}

/** Returns the code of an error for the log. */
export function codeOf(error: ServiceError | HttpError): ErrorCode {
  if (error instanceof ServiceError) return error.code;
  return error.status === 408 ? 'deadline_exceeded' : 'invalid_argument';
}

/** `reason` is for the log. */
export function unavailable(reason?: string): ServiceError {
  return new ServiceError('unavailable', 'Service unavailable', reason === undefined ? {} : { reason });
}

/** `reason` is for the log. */
export function deadlineExceeded(reason?: string): ServiceError {
  return new ServiceError('deadline_exceeded', 'Deadline exceeded', reason === undefined ? {} : { reason });
}

/** The request message cannot be decoded. */
export function malformedMessage(): ServiceError {
  const violation = { field: 'body', message: 'must be a well-formed message' };
  return new ServiceError('invalid_argument', 'Validation failed', { violations: [violation] });
}
