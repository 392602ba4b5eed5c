import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type postgres from 'postgres';

/** The resources that a process has used, as the operating system counts them. */
export interface Usage {
  /** The user and system time of all threads. */
  readonly cpuMicros: number;
  readonly residentBytes: number;
}

/** Returns what the process has used since its start. */
export function readUsage(pid: number): Usage {
  return process.platform === 'linux' ? readProc(pid) : readPs(pid);
}

/** Returns the CPU time of each connection to the client's database but its own, by the process that serves it. */
export async function readConnections(sql: postgres.Sql): Promise<Map<number, number>> {
  const rows = await sql`
    select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
  const times = new Map<number, number>();
  for (const { pid } of rows) {
    const usage = readIfRunning(pid);
    if (usage) times.set(pid, usage.cpuMicros);
  }
  return times;
}

/** Returns undefined if the process has ended meanwhile. */
function readIfRunning(pid: number): Usage | undefined {
  try {
    return readUsage(pid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ESRCH')
      return undefined;
    throw error;
  }
}

/** Returns a function for the CPU time of the Postgres processes that serve Usher in the client's database. */
export async function findBackends(sql: postgres.Sql): Promise<() => number> {
  const backends = await sql`
    select pid from pg_stat_activity where datname = current_database() and application_name like 'usher %'`;
  const times = new Map<number, number>();
  return () => {
    for (const { pid } of backends) {
      // What has ended keeps what it had used.
      const usage = readIfRunning(pid);
      if (usage) times.set(pid, usage.cpuMicros);
    }
    return [...times.values()].reduce((sum, time) => sum + time, 0);
  };
}

function readProc(pid: number): Usage {
  const residentKb = Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { cpuMicros: readSchedule(pid) ?? readTicks(pid), residentBytes: residentKb * 1024 };
}

/**
 * Returns the CPU time of all threads in microseconds, from counters in nanoseconds. Returns undefined if the
 * kernel has no such counters.
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

/** Reads fields 14 and 15, in hundredths of a second. Field 2, the command, may contain spaces. */
function readTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Reads the output of macOS: `[hours:]minutes:seconds.hundredths`, and kilobytes. */
function readPs(pid: number): Usage {
  const [time = '', resident] = execFileSync('ps', ['-o', 'cputime=,rss=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/);
  const seconds = time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return { cpuMicros: seconds * 1e6, residentBytes: Number(resident) * 1024 };
}
