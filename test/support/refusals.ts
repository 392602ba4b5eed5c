import { ServiceError } from '../../src/domain/core/errors.ts';

/** Returns what the ServiceError says that the promise rejects with. @throws for any other outcome. */
export async function refusalOf(promise: Promise<unknown>) {
  const outcome = await promise.then(
    () => 'a success',
    (error: unknown) => error,
  );
  if (!(outcome instanceof ServiceError)) throw new Error('No ServiceError', { cause: outcome });
  const { code, message, violations, reason } = outcome;
  return { code, message, violations, reason };
}

/** Returns the reason of the ServiceError that the promise rejects with, or undefined if it resolves. */
export async function reasonOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error.reason;
    throw error;
  }
}
