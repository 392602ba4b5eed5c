import type { ConnectError } from '@connectrpc/connect';
import type { RpcCall } from './call.ts';
import { deadlineExceeded, unavailable } from './errors.ts';

/** Resolves to undefined when the call's deadline passes first. */
export async function withinDeadline<T>(run: () => Promise<T>, call: RpcCall): Promise<T | undefined> {
  if (performance.now() >= call.deadline) return undefined;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, call.deadline - performance.now()));
  });
  try {
    return await Promise.race([run(), deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** A caller's deadline is the caller's; one of ours is a failing of the service, unless the body is late. */
export function deadlineErrorOf(call: RpcCall): ConnectError {
  return call.isDeadlineOfCaller || call.stage === 'decoding' ? deadlineExceeded() : unavailable();
}
