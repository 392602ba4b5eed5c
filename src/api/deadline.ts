import type { ConnectError } from '@connectrpc/connect';
import type { RpcCall } from './call.ts';
import { deadlineExceeded, unavailable } from './errors.ts';

/** What a call that is not done by its deadline comes to. */
export const TIMED_OUT = Symbol('late');

/** What `run` resolves to, or TIMED_OUT when the call's deadline passes first. */
export function withinDeadline<T>(run: () => Promise<T>, { deadline }: RpcCall): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const remaining = deadline - performance.now();
    if (remaining <= 0) {
      resolve(TIMED_OUT);
      return;
    }
    const timer = setTimeout(() => resolve(TIMED_OUT), remaining);
    run().then(
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

/** A caller's deadline is the caller's; one of ours is a failing of the service, unless the body is late. */
export function deadlineErrorOf(call: RpcCall): ConnectError {
  return call.isDeadlineOfCaller || call.phase === 'decoding' ? deadlineExceeded() : unavailable();
}
