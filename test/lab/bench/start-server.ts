import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isRunning } from '../../../src/database/embedded/child-process.ts';
import { endProcess } from '../../support/end-process.ts';
import type { ServerName, ServerSpec } from './servers.ts';

/** The directory of profiles and figures, which is not under version control. */
export const FIGURES_DIRECTORY = fileURLToPath(new URL('../../../.bench', import.meta.url));

export interface RunningServer {
  readonly name: ServerName;
  readonly pid: number;
  readonly ports: { readonly '1.1': number; readonly '2': number };
}

export interface StartedServer extends RunningServer {
  /** Emits what a preloaded module sends. */
  readonly child: ChildProcess;
}

export interface StartOptions {
  readonly environment: Readonly<Record<string, string>>;
  /** The working directory, which has no `.env`. */
  readonly directory: string;
  readonly isProfiling?: boolean;
  /** A module to load before the server. */
  readonly preload?: URL;
}

/** Against hanging. A start that creates the data on a busy machine takes many times as long as on an idle one. */
const START_TIMEOUT_MS = 120_000;

/** Starts the server in a process of its own. Disposing of the stack stops it. */
export async function startServer(
  stack: AsyncDisposableStack,
  { name, title, file, listeners }: ServerSpec,
  { environment, directory, isProfiling = false, preload }: StartOptions,
): Promise<StartedServer> {
  const profiling = isProfiling ? ['--cpu-prof', `--cpu-prof-dir=${FIGURES_DIRECTORY}`] : [];
  const preloads = [new URL('report-port.js', import.meta.url), ...(preload ? [preload] : [])];
  const child = fork(file, {
    execArgv: [...profiling, ...preloads.flatMap(({ href }) => ['--import', href])],
    cwd: directory,
    env: { ...environment, HOST: '127.0.0.1', PORT: '0' },
    // The log is written, but to /dev/null, so that no disk slows the server down.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  stack.defer(() => endProcess(child, 'SIGTERM'));
  const ports: number[] = [];
  child.on('message', (message) => {
    if (typeof message === 'object' && 'port' in message) ports.push(Number(message.port));
  });
  await waitUntil(async () => ports.length >= listeners && (await isOpen(ports.at(-1))), child, title);
  const [http1 = 0, http2 = http1] = ports.slice(-listeners);
  return { name, child, pid: child.pid ?? 0, ports: { '1.1': http1, '2': http2 } };
}

async function waitUntil(check: () => Promise<boolean>, child: ChildProcess, title: string): Promise<void> {
  const startBy = performance.now() + START_TIMEOUT_MS;
  while (isRunning(child) && performance.now() < startBy) {
    if (await check()) return;
    await sleep(2);
  }
  throw new Error(`${title} does not start`);
}

async function isOpen(port = 0): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
