import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ServerName, ServerSpec } from './lineup.ts';
import { figuresDirectory } from './report/figures-directory.ts';

export interface RunningServer {
  readonly name: ServerName;
  readonly pid: number;
  readonly ports: { readonly '1.1': number; readonly '2': number };
}

export interface StartOptions {
  readonly environment: Readonly<Record<string, string>>;
  /** Where it runs, away from any `.env`. */
  readonly directory: string;
  readonly isProfiling: boolean;
  /** A module to load before it. */
  readonly preload?: URL;
}

const START_TIMEOUT_MS = 20_000;
const EXIT_TIMEOUT_MS = 5_000;

/** Starts the server in a process of its own; on disposal of the stack it ends. */
export async function startServer(
  stack: AsyncDisposableStack,
  { name, title, file }: ServerSpec,
  { environment, directory, isProfiling, preload }: StartOptions,
): Promise<RunningServer> {
  const port = await findFreePort();
  // Usher speaks HTTP/2 on the same port; a server that cannot is given another for it.
  const http2Port = name === 'connect-node' ? await findFreePort() : port;
  const profiling = isProfiling ? ['--cpu-prof', `--cpu-prof-dir=${figuresDirectory}`] : [];
  const preloads = [new URL('end-with-parent.ts', import.meta.url), ...(preload ? [preload] : [])];
  const imports = preloads.flatMap(({ href }) => ['--import', href]);
  const child = spawn(process.execPath, [...profiling, ...imports, fileURLToPath(file)], {
    cwd: directory,
    env: { ...environment, HOST: '127.0.0.1', PORT: String(port), HTTP2_PORT: String(http2Port) },
    // Its log goes to /dev/null: it is written, but no disk slows it down.
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  stack.defer(() => endServer(child));
  await once(child, 'spawn');
  for (const awaited of new Set([port, http2Port])) await waitUntilOpen(awaited, child, title);
  return { name, pid: child.pid ?? 0, ports: { '1.1': port, '2': http2Port } };
}

async function endServer(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const exited = once(child, 'exit');
  child.stdin?.destroy();
  const timer = setTimeout(() => child.kill('SIGKILL'), EXIT_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

async function waitUntilOpen(port: number, child: ChildProcess, title: string): Promise<void> {
  const startBy = performance.now() + START_TIMEOUT_MS;
  while (isRunning(child) && performance.now() < startBy) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await sleep(20);
  }
  throw new Error(`${title} does not start`);
}

export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('There is no free port');
  return address.port;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}
