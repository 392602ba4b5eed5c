import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after `ms`, or when the signal is aborted. Its timer does not keep the process alive. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {});
}
