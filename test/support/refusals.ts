import { type ErrorCode, ServiceError, type Violation } from '../../src/domain/errors.ts';

/** What a ServiceError says. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly violations: readonly Violation[];
  readonly reason: string | undefined;
}

/** Returns the ServiceError that the promise rejects with. @throws for any other outcome. */
export async function refusalOf(promise: Promise<unknown>): Promise<Refusal> {
  const outcome = await promise.then(
    () => 'a success',
    (error: unknown) => error,
  );
  if (!(outcome instanceof ServiceError)) throw new Error('No ServiceError', { cause: outcome });
  const { code, message, violations, reason } = outcome;
  return { code, message, violations, reason };
}
