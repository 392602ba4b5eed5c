/**
 * Resolves to the result of `work`. Rejects with the error of `onTimeout` if the deadline passes first.
 *
 * @param deadline in milliseconds of `performance.now()`
 */
export async function withDeadline<T>(deadline: number, work: () => Promise<T>, onTimeout: () => Error): Promise<T> {
  const remaining = deadline - performance.now();
  if (remaining <= 0) throw onTimeout();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(onTimeout()), remaining);
  try {
    work().then(resolve, reject);
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
