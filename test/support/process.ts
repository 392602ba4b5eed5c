/** Usher as a process of its own, started the way a developer does, and what is left when it is gone. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

const PATH = `${join(REPOSITORY, 'node_modules/.bin')}:${process.env.PATH}`;

/** The user nobody, as whom a process of root's can run that must not be root's. */
export const NOBODY = 65_534;

/** How long a start, an exit, or the end of what an exit leaves behind is waited for. */
const PATIENCE_MS = 20_000;

export interface Run {
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Main extends AsyncDisposable {
  readonly url: string;
  /** What it has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** The commands it has printed, one per line. */
  readonly commands: readonly string[];
  /** The processes below it, by ID. */
  descendants(): Promise<Map<number, string>>;
  /** Sends the signal and resolves when the process is gone, to its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface MainOptions {
  readonly env: Record<string, string>;
  /** What is in its `.env`. */
  readonly dotEnv?: string;
  /** To run as another than oneself. */
  readonly uid?: number | undefined;
}

/** Resolves when it has printed what to try. Rejects with what it wrote when it exits before. */
export async function startMain(options: MainOptions): Promise<Main> {
  const { child, output, remove } = await spawnMain(options);
  const exited = once(child, 'exit');
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  const dispose = async () => {
    if (child.exitCode === null && child.signalCode === null) await end('SIGKILL');
    await remove();
  };
  const url = await until(() => {
    if (child.exitCode !== null) throw new Error(`It has exited with ${child.exitCode}`);
    // Its log may go on below.
    return /Usher is at (\S+), [\s\S]*\n\n(?:\{.*\n)*$/.exec(output.stdout)?.[1];
  }).catch(async (cause) => {
    await dispose();
    throw new Error(`Usher has not started: ${JSON.stringify(output)}`, { cause });
  });

  return {
    url,
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
    commands: output.stdout.split('\n').filter((line) => /^(?:curl|npx) /.test(line)),
    descendants: () => descendantsOf(child.pid ?? 0),
    end,
    [Symbol.asyncDispose]: dispose,
  };
}

/** Runs it until it exits by itself, or by what is done to it meanwhile. */
export async function runMain({
  whileRunning,
  patienceMs = PATIENCE_MS,
  ...options
}: MainOptions & {
  whileRunning?: (kill: (signal: NodeJS.Signals) => void) => Promise<void>;
  patienceMs?: number;
}): Promise<Run> {
  const { child, output, remove } = await spawnMain(options);
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  const closed = once(child, 'close');
  try {
    await whileRunning?.((signal) => child.kill(signal));
    await closed;
    return { exitCode: child.exitCode, ...output };
  } finally {
    clearTimeout(timer);
    child.kill('SIGKILL');
    await closed;
    await remove();
  }
}

/** Runs a line in a shell as a developer would: in the repository, with its tools at hand. */
export async function runShell(line: string): Promise<Run> {
  try {
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line], {
      cwd: REPOSITORY,
      env: { PATH, HOME: process.env.HOME },
      timeout: PATIENCE_MS,
    });
    return { exitCode: 0, stdout, stderr };
  } catch (error) {
    if (!(error instanceof Error && 'stdout' in error && 'stderr' in error && 'code' in error)) throw error;
    return { exitCode: Number(error.code), stdout: String(error.stdout), stderr: String(error.stderr) };
  }
}

/** The processes whose command line has the text, by ID. */
export async function processesWith(text: string): Promise<Map<number, string>> {
  const all = await listProcesses();
  return new Map(all.filter(({ command }) => command.includes(text)).map(({ pid, command }) => [pid, command]));
}

/** Those of the processes that are still there, once all are gone or time is up. */
export async function survivorsOf(processes: ReadonlyMap<number, string>): Promise<string[]> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const all = await listProcesses();
    const left = all.filter(({ pid, command }) => processes.get(pid) === command);
    if (left.length === 0 || performance.now() > deadline) return left.map(({ command }) => command);
    await sleep(20);
  }
}

/** With a clean environment, and a working directory of its own, so that nobody else's `.env` counts. */
async function spawnMain({ env, dotEnv, uid }: MainOptions) {
  const directory = await mkdtemp(join(tmpdir(), 'usher-main-'));
  if (dotEnv !== undefined) await writeFile(join(directory, '.env'), dotEnv);
  if (uid !== undefined) await chown(directory, uid, uid);
  const child: ChildProcess = spawn(process.execPath, [join(REPOSITORY, 'src/main.ts')], {
    cwd: directory,
    // As under npm it ends when we do, however that comes.
    env: { PATH, npm_lifecycle_event: 'start', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    output.stderr += chunk;
  });
  return { child, output, remove: () => rm(directory, { recursive: true, force: true }) };
}

async function descendantsOf(ancestor: number): Promise<Map<number, string>> {
  const all = await listProcesses();
  const found = new Map<number, string>();
  const add = (parent: number) => {
    for (const { pid, ppid, command } of all) {
      if (ppid !== parent || found.has(pid)) continue;
      found.set(pid, command);
      add(pid);
    }
  };
  add(ancestor);
  return found;
}

async function listProcesses(): Promise<{ pid: number; ppid: number; command: string }[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, ppid, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid ? [{ pid: Number(pid), ppid: Number(ppid), command }] : [];
  });
}

async function until<T>(check: () => T | undefined): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const value = check();
    if (value !== undefined) return value;
    if (performance.now() > deadline) throw new Error('Time is up');
    await sleep(10);
  }
}
