import { readdirSync } from 'node:fs';

/** Returns whether a process has this ID. A thread that has it belongs to another process. */
export function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: of another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // Linux sends signals to threads, too, and lists them nowhere.
  return process.platform !== 'linux' || readdirSync('/proc').includes(`${pid}`);
}
