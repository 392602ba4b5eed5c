import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after that time, or as soon as the signal is aborted. It keeps no process from ending. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {});
}
