/** A control group with a limit for memory, as a container has one, and what the container of Usher has. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { REPOSITORY } from './process.ts';

/** What `compose.yaml` and the manifest for Kubernetes allow. */
export const CONTAINER_BYTES = 512 * 1024 * 1024;
/** The options of Node in the image. */
export const [, CONTAINER_NODE_OPTIONS = ''] =
  /\bNODE_OPTIONS=(\S+)/.exec(readFileSync(join(REPOSITORY, 'Dockerfile'), 'utf8')) ?? [];

const ROOT = '/sys/fs/cgroup';

/** The files of both versions of control groups. */
const VERSIONS = [
  {
    root: join(ROOT, 'memory'),
    pattern: /^\d+:memory:(.*)$/m,
    limit: 'memory.limit_in_bytes',
    swap: 'memory.memsw.limit_in_bytes',
  },
  { root: ROOT, pattern: /^0::(.*)$/m, limit: 'memory.max', swap: 'memory.swap.max' },
];

export interface MemoryLimit extends Disposable {
  /** The file that takes the ID of a process. */
  readonly processes: string;
}

/** Creates a group below that of this process. Returns why not where the machine does not allow it. */
export function limitMemory(bytes: number): MemoryLimit | string {
  const groups = readFileSync('/proc/self/cgroup', 'utf8');
  for (const { root, pattern, limit, swap } of VERSIONS) {
    const [, own] = pattern.exec(groups) ?? [];
    if (own === undefined) continue;
    const group = join(root, own, `usher-test-${randomUUID()}`);
    try {
      mkdirSync(group);
    } catch {
      continue;
    }
    const remove = () => rmdirSync(group);
    try {
      writeFileSync(join(group, limit), String(bytes));
      if (existsSync(join(group, swap))) writeFileSync(join(group, swap), swap.includes('memsw') ? String(bytes) : '0');
      return { processes: join(group, 'cgroup.procs'), [Symbol.dispose]: remove };
    } catch {
      remove();
    }
  }
  return `no control group can be made below ${dirname(ROOT)}`;
}
