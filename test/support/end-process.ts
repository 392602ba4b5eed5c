import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { isRunning } from '../../src/database/embedded/child-process.ts';

const TIMEOUT_MS = 20_000;

/** Sends the signal, and SIGKILL if that does not help. Resolves when the process has ended. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (!isRunning(child)) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}
