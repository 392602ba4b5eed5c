import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** What a process has used, by the accounts of the operating system. */
export interface Usage {
  /** User and system time of all its threads. */
  readonly cpuMicros: number;
  readonly residentBytes: number;
}

export function readUsage(pid: number): Usage {
  return process.platform === 'linux' ? readProc(pid) : readPs(pid);
}

function readProc(pid: number): Usage {
  const residentKb = Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { cpuMicros: readSchedule(pid) ?? readTicks(pid), residentBytes: residentKb * 1024 };
}

/**
 * The time on a CPU, thread by thread, in nanoseconds: what the ticks of `stat` are rounded from.
 * Undefined where the kernel does not tell.
 */
function readSchedule(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanos = threads.map((thread) =>
      Number.parseInt(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'), 10),
    );
    return nanos.reduce((sum, time) => sum + time, 0) / 1000;
  } catch {
    return undefined;
  }
}

/** User and system time in hundredths of a second, the 14th and 15th field; the second may hold spaces. */
function readTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** As macOS has it: `[hours:]minutes:seconds.hundredths`, and kilobytes. */
function readPs(pid: number): Usage {
  const [time = '', resident] = execFileSync('ps', ['-o', 'cputime=,rss=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/);
  const seconds = time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return { cpuMicros: seconds * 1e6, residentBytes: Number(resident) * 1024 };
}
