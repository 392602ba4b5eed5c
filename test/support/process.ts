/** Runs Usher as a process of its own, the way a developer or an operator does, and looks at running processes. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { FullConfig } from '../../src/modules/modules.ts';
import { createDirectory } from './directory.ts';
import { createSecretFiles, TEST_ENV, testConfig } from './service.ts';
import { quickOrLong } from './soak.ts';

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

const BIN = ['node_modules/.bin', 'test/node_modules/.bin'].map((path) => join(REPOSITORY, path));
const PATH = [...BIN, process.env.PATH].join(':');

/** The limit for a start, for an exit, and for the end of the processes that an exit leaves. Tests take a little longer. */
const TIMEOUT_MS = 110_000;
/** The limit for a line in a shell, which may compile or install. */
const SHELL_TIMEOUT_MS = 300_000;

/** All processes share them, so that each can read what another has encrypted or signed. */
const SECRETS = createSecretFiles();

export interface Run {
  /** Null if a signal ended the process. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface MainOptions {
  /** The whole environment besides `PATH` and the request timeout. */
  readonly env: Record<string, string>;
  /** Files in its working directory, by name. */
  readonly files?: Record<string, string>;
  /** The descriptor to write standard output to, instead of a pipe that the test reads. */
  readonly stdoutFd?: number;
  /** A control group to run in, by its file of processes. */
  readonly cgroup?: string | undefined;
  /** False keeps only errors of the log, for tests that make many calls. */
  readonly keepsLog?: boolean;
}

export class UsherProcess implements AsyncDisposable {
  readonly pid: number;
  /** Resolves when the process has exited and all its output has been read. */
  readonly result: Promise<Run>;
  /** What it has written so far. */
  stdout = '';
  stderr = '';
  /** Empty until it listens. */
  url = '';
  readonly #child: ChildProcess;
  readonly #keepsLog: boolean;
  readonly #isEmbedded: boolean;
  readonly #started = Promise.withResolvers<void>();

  private constructor(directory: string, { cgroup, env, stdoutFd, keepsLog = true }: MainOptions) {
    this.#keepsLog = keepsLog;
    this.#isEmbedded = env.DATABASE_URL === undefined;
    const command = [process.execPath, join(REPOSITORY, 'src/start.js')];
    // Memory counts where it was first used, so the process begins in its group.
    const inGroup = cgroup ? ['sh', '-c', 'echo $$ > "$0" && exec "$@"', cgroup, ...command] : command;
    const [program = '', ...args] = inGroup;
    const child = spawn(program, args, {
      cwd: directory,
      // As below npm, it ends with its parent.
      // A call that is late on a busy machine is refused, as are more calls while calls are slow.
      env: { PATH, npm_lifecycle_event: 'start', REQUEST_TIMEOUT_MS: '60000', ...env },
      stdio: ['ignore', stdoutFd ?? 'pipe', 'pipe'],
    });
    this.#child = child;
    this.pid = child.pid ?? 0;
    this.result = once(child, 'close').then(() => ({
      exitCode: child.exitCode,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.#read(line));
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.stderr += text;
    });
  }

  /** Runs it in a directory of its own with a clean environment, so that no other `.env` counts. */
  static async spawn(options: MainOptions): Promise<UsherProcess> {
    const directory = await createDirectory();
    for (const [name, text] of Object.entries(options.files ?? {})) await writeFile(join(directory, name), text);
    return new UsherProcess(directory, options);
  }

  /** Resolves when it listens and has printed what to try. Rejects with its output if it exits before. */
  static async start(options: MainOptions): Promise<UsherProcess> {
    const usher = await UsherProcess.spawn(options);
    await Promise.race([usher.#started.promise, usher.result, sleep(TIMEOUT_MS, undefined, { ref: false })]);
    if (usher.url === '') {
      await usher[Symbol.asyncDispose]();
      throw new Error(`Usher has not started: ${JSON.stringify({ stdout: usher.stdout, stderr: usher.stderr })}`);
    }
    return usher;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** The errors it has logged so far, and its standard error. */
  get errors(): string {
    return [...this.stdout.split('\n').filter(isError), this.stderr].join('\n').trim();
  }

  get isRunning(): boolean {
    return this.ended === undefined;
  }

  /** What has ended it: its exit code, or a signal. */
  get ended(): number | NodeJS.Signals | undefined {
    return this.#child.exitCode ?? this.#child.signalCode ?? undefined;
  }

  residentBytes(): number {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) * 1024;
  }

  openFiles(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }

  /** Stops reading its log. */
  pauseLog(): void {
    this.#child.stdout?.pause();
  }

  resumeLog(): void {
    this.#child.stdout?.resume();
  }

  /** Closes the reading end of its log. */
  closeLog(): void {
    this.#child.stdout?.destroy();
  }

  /** Returns the processes below it, by ID. */
  descendants(): Promise<Map<number, string>> {
    return descendantsOf(this.pid);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends the signal and resolves to the exit code when the process is gone. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    if (this.isRunning) await exited;
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) {
      // Postgres writes to its directory, which the caller may remove, until it has shut down.
      const postgres = this.#isEmbedded ? await this.descendants() : new Map();
      await this.end('SIGKILL');
      await survivorsOf(postgres);
    }
  }

  #read(line: string): void {
    if (this.#keepsLog || this.url === '' || isError(line)) this.stdout += `${line}\n`;
    if (this.url !== '') return;
    const url = this.#isEmbedded
      ? // The log may go on below what it prints to try.
        /^Usher \S+ is ready\.$[\s\S]* (?:Here +(\S+)|Docs +(\S+)\/docs\n(?! +Here))[\s\S]*\nData stays in .*\n/m
          .exec(this.stdout)
          ?.slice(1)
          .find(Boolean)
      : /"url":"([^"]+)".*"msg":"listening"/.exec(line)?.[1]?.replace('localhost', '127.0.0.1');
    if (!url) return;
    this.url = url;
    this.#started.resolve();
  }
}

/** Starts it on an embedded Postgres, or on the database of the environment. */
export const startMain = UsherProcess.start;

/** Starts it on a database of the test's, with secrets that all such processes share. */
export function startUsher(
  databaseUrl: string,
  env: Record<string, string> = {},
  { cgroup, files, keepsLog = false }: Pick<MainOptions, 'cgroup' | 'files' | 'keepsLog'> = {},
): Promise<UsherProcess> {
  const options = optionsFor(databaseUrl, env);
  return UsherProcess.start({ ...options, files: { ...options.files, ...files }, cgroup, keepsLog });
}

/** Returns the options of a process on a database of the test's. */
export function optionsFor(databaseUrl: string, env: Record<string, string> = {}): MainOptions {
  return {
    files: SECRETS,
    env: {
      ...TEST_ENV,
      DATABASE_URL: databaseUrl,
      // A small young generation, so that resident memory, which the long forms judge, shows what is kept and not what is
      // garbage. It takes more CPU.
      NODE_OPTIONS: quickOrLong('', '--max-semi-space-size=2'),
      ...env,
    },
  };
}

/** Returns the configuration of a service in the process of the test, with the secrets of such processes. */
export function configLikeProcesses(databaseUrl: string): FullConfig {
  return testConfig(databaseUrl, {}, SECRETS);
}

/** Runs it until it exits, by itself or by a signal that `whileRunning` sends. */
export async function runMain(
  options: MainOptions,
  whileRunning?: (kill: (signal: NodeJS.Signals) => void) => Promise<void>,
): Promise<Run> {
  await using usher = await UsherProcess.spawn(options);
  await whileRunning?.((signal) => usher.kill(signal));
  const timer = setTimeout(() => usher.kill('SIGKILL'), TIMEOUT_MS);
  return await usher.result.finally(() => clearTimeout(timer));
}

/** Runs a line in a shell as a developer would: in the repository, with its tools on the path. */
export function runShell(line: string, env: Readonly<Record<string, string>> = {}): Promise<Run> {
  const options = { cwd: REPOSITORY, env: { PATH, HOME: process.env.HOME, ...env }, timeout: SHELL_TIMEOUT_MS };
  return new Promise((resolve) => {
    // Without the option, bash takes its input, a socket, for a connection of rsh, and reads ~/.bashrc.
    execFile('bash', ['--norc', '-c', line], options, (error, stdout, stderr) =>
      // A signal, such as that of the timeout, leaves no code.
      resolve({ exitCode: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });
}

/** Returns the processes below another, by ID. */
export async function descendantsOf(ancestor: number): Promise<Map<number, string>> {
  const all = await listProcesses();
  const below = (parent: number): typeof all =>
    all.filter(({ ppid }) => ppid === parent).flatMap((child) => [child, ...below(child.pid)]);
  return new Map(below(ancestor).map(({ pid, command }) => [pid, command]));
}

/** Returns the processes whose command line contains the text, by ID. */
export async function processesWith(text: string): Promise<Map<number, string>> {
  const all = await listProcesses();
  return new Map(all.filter(({ command }) => command.includes(text)).map(({ pid, command }) => [pid, command]));
}

/** Resolves to no commands when all the processes are gone, or to those that are left at the timeout. */
export async function survivorsOf(processes: ReadonlyMap<number, string>): Promise<string[]> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const all = await listProcesses();
    const left = all.filter(({ pid, command }) => processes.get(pid) === command);
    if (left.length === 0 || performance.now() > deadline) return left.map(({ command }) => command);
    await sleep(20);
  }
}

function isError(line: string): boolean {
  return /^\{"level":[56]0,/.test(line);
}

async function listProcesses(): Promise<{ pid: number; ppid: number; command: string }[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, ppid, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid ? [{ pid: Number(pid), ppid: Number(ppid), command }] : [];
  });
}
