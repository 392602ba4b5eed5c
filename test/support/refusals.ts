import { ServiceError } from '../../src/domain/errors.ts';

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
