import { type ErrorKind, ServiceError, type Violation } from '../../src/domain/errors.ts';

/** All that a ServiceError tells. */
export interface Refusal {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly violations: readonly Violation[];
  readonly cause: unknown;
}

/** The ServiceError that the promise rejects with; throws for any other outcome. */
export async function refusalOf(promise: Promise<unknown>): Promise<Refusal> {
  const outcome = await promise.then(
    () => 'a success',
    (error: unknown) => error,
  );
  if (!(outcome instanceof ServiceError)) throw new Error('No ServiceError', { cause: outcome });
  const { kind, message, violations, cause } = outcome;
  return { kind, message, violations, cause };
}
