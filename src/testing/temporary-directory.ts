import { readFileSync, statfsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProcess } from './is-process.ts';

const IN_MEMORY = '/dev/shm';
/** The databases of a run need a tenth of it. */
const ENOUGH_BYTES = 4 * 2 ** 30;

/**
 * Creates a directory for what a test run writes, in memory where the machine has it: on a disk, to create the 500
 * files of a database can take ten times as long.
 */
export async function createTemporaryDirectory(): Promise<string> {
  if (!canUseMemory()) return mkdtemp(join(tmpdir(), 'usher-tests-'));
  await removeLeftovers();
  return mkdtemp(join(IN_MEMORY, `usher-tests-${process.pid}-`));
}

/** Removes what runs that were killed have left in memory, as far as this user may. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(IN_MEMORY)) {
    const [, pid] = /^usher-tests-(\d+)-/.exec(name) ?? [];
    if (pid && !isProcess(Number(pid)))
      await rm(join(IN_MEMORY, name), { recursive: true, force: true }).catch(() => {});
  }
}

function canUseMemory(): boolean {
  // Somebody who names a directory wants it. Programs that tests build there must be allowed to run.
  if (process.env.TMPDIR || process.platform !== 'linux') return false;
  const mount = readFileSync('/proc/mounts', 'utf8').match(/^tmpfs \/dev\/shm tmpfs (\S+)/m);
  if (!mount?.[1] || /\b(ro|noexec)\b/.test(mount[1])) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize > ENOUGH_BYTES;
}
