/** What went wrong, as the RPC error to answer with. */
import { type FieldError, isFieldError } from '@bufbuild/protobuf/reflect';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { DatabaseUnavailableError, DeadlinePassedError } from '../database/database.ts';
import { type ErrorKind, ServiceError, type Violation } from '../domain/errors.ts';
import { IssuerUnavailableError } from '../domain/login/external-issuer.ts';
import { callKey, type RpcCall } from './call.ts';

const CODES: Record<ErrorKind, Code> = {
  invalid: Code.InvalidArgument,
  unauthenticated: Code.Unauthenticated,
  'not-found': Code.NotFound,
  'already-exists': Code.AlreadyExists,
  'failed-precondition': Code.FailedPrecondition,
  'too-many': Code.ResourceExhausted,
};

/** RequestScheduler any error into the one to answer with, and notes in the call how it ended. */
export function toConnectError(error: unknown, call: RpcCall, logger: Logger): ConnectError {
  const answer = explain(error, call, logger);
  call.code = answer.code;
  return answer;
}

/** What nobody foresaw is logged whole and shown opaque. */
function explain(error: unknown, call: RpcCall, logger: Logger): ConnectError {
  if (error instanceof ConnectError) return error;
  if (error instanceof ServiceError) return createError(CODES[error.kind], error.message, error.violations);
  if (error instanceof DatabaseUnavailableError) {
    call.reason = error.reason;
    return call.isDeadlineOfCaller && error.cause instanceof DeadlinePassedError ? deadlineExceeded() : unavailable();
  }
  if (error instanceof IssuerUnavailableError) {
    call.reason = error.message;
    return unavailable();
  }
  logger.error({ err: error, requestId: call.requestId, method: call.procedure }, 'unexpected error');
  return new ConnectError('Internal error', Code.Internal);
}

export function unavailable(): ConnectError {
  return new ConnectError('Service unavailable', Code.Unavailable, { 'retry-after': '1' });
}

export function deadlineExceeded(): ConnectError {
  return new ConnectError('Deadline exceeded', Code.DeadlineExceeded);
}

/** Connect's HTTP status, but for a message that is too large: HTTP has a status of its own for that. */
export function toHttpStatus(status: number): number {
  return status === 429 ? 413 : status;
}

/**
 * Connect's error for a message it could not decode, as ours: the request is at fault, not the
 * service, so malformed protobuf, JSON and compression are `Validation failed`.
 */
export function toDecodingError(error: unknown): ConnectError {
  if (!(error instanceof ConnectError)) return createError(Code.InvalidArgument, 'Validation failed', [malformed]);
  const fieldError = fieldErrorIn(error);
  if (fieldError) {
    const field = fieldError.field();
    const name = field.kind === 'field' ? field.jsonName : field.name;
    return createError(Code.InvalidArgument, 'Validation failed', [
      { field: name, message: 'must be of the documented type' },
    ]);
  }
  // The one thing Connect finds wrong with headers rather than with the message is a timeout.
  const isOfTimeout = error.rawMessage.includes('timeout');
  const isMalformed = error.code === Code.Internal || (error.code === Code.InvalidArgument && !isOfTimeout);
  return isMalformed ? createError(Code.InvalidArgument, 'Validation failed', [malformed]) : error;
}

/** Protobuf wraps the error of a field in that of the message. */
function fieldErrorIn(error: unknown): FieldError | undefined {
  if (isFieldError(error)) return error;
  return error instanceof Error ? fieldErrorIn(error.cause) : undefined;
}

const malformed: Violation = { field: 'body', message: 'must be a well-formed message' };

function createError(code: Code, message: string, violations: readonly Violation[]): ConnectError {
  if (violations.length === 0) return new ConnectError(message, code);
  const fieldViolations = violations.map(({ field, message }) => ({ field, description: message }));
  return new ConnectError(message, code, undefined, [{ desc: BadRequestSchema, value: { fieldViolations } }]);
}

/** The field violations that an error carries. */
export function violationsOf(error: ConnectError): Violation[] {
  return error
    .findDetails(BadRequestSchema)
    .flatMap((detail) => detail.fieldViolations.map(({ field, description }) => ({ field, message: description })));
}

/** Maps the errors of every implementation and marks that it was reached. */
export function createErrorInterceptor(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const call = request.contextValues.get(callKey);
    if (!call) throw new Error('The context has no call');
    call.phase = 'implementation';
    const toAnswer = (error: unknown) => toConnectError(error, call, logger);
    try {
      if (!request.stream) return await next(request);
      const response = await next({ ...request, message: mapErrors(request.message, toDecodingError) });
      return response.stream ? { ...response, message: mapErrors(response.message, toAnswer) } : response;
    } catch (error) {
      throw toAnswer(error);
    }
  };
}

async function* mapErrors<T>(messages: AsyncIterable<T>, map: (error: unknown) => ConnectError): AsyncIterable<T> {
  try {
    yield* messages;
  } catch (error) {
    throw map(error);
  }
}
