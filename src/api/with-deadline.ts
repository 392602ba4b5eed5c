/**
 * Returns what `work` resolves to. When the deadline passes first, rejects with the error that `onTimeout`
 * returns.
 *
 * @param deadline in milliseconds of `performance.now()`
 */
export function withDeadline<T>(deadline: number, work: () => Promise<T>, onTimeout: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const remaining = deadline - performance.now();
    if (remaining <= 0) {
      reject(onTimeout());
      return;
    }
    const timer = setTimeout(() => reject(onTimeout()), remaining);
    work().then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
