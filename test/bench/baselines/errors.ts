/** How the baselines answer errors. */
import { Code } from '@connectrpc/connect';
import { ServiceError } from '../../../src/domain/errors.ts';

/** The errors of the measured calls, by their code. */
const ANSWERS: Readonly<Record<string, { readonly status: number; readonly code: Code }>> = {
  invalid_argument: { status: 400, code: Code.InvalidArgument },
  unauthenticated: { status: 401, code: Code.Unauthenticated },
  not_found: { status: 404, code: Code.NotFound },
};
const INTERNAL = { status: 500, code: Code.Internal, message: 'Internal error' };

/** Returns the HTTP status, the code of gRPC and Connect, and the message. */
export function toAnswer(error: unknown): { status: number; code: Code; message: string } {
  const answer = error instanceof ServiceError ? ANSWERS[error.code] : undefined;
  return answer && error instanceof Error ? { ...answer, message: error.message } : INTERNAL;
}
