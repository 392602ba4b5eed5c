/** The documented envelope, for the baselines that speak REST. */
import { type ErrorKind, ServiceError } from '../../../src/domain/errors.ts';

export interface RestAnswer {
  readonly status: number;
  readonly envelope: { readonly status: boolean; readonly message: string; readonly data?: unknown };
}

const STATUSES: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  'not-found': 404,
  'already-exists': 409,
  'failed-precondition': 400,
  'too-many': 429,
};

export function succeed(message: string, data?: unknown): RestAnswer {
  return { status: 200, envelope: { status: true, message, data } };
}

export function fail(error: unknown): RestAnswer {
  if (!(error instanceof ServiceError)) {
    return { status: 500, envelope: { status: false, message: 'Internal error' } };
  }
  return { status: STATUSES[error.kind], envelope: { status: false, message: error.message } };
}
