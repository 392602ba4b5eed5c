import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';

export interface BoundProcessOptions {
  readonly cwd: string;
  /** The file that the output is appended to. */
  readonly log: string;
  /** Removed when the command ends. */
  readonly temporaryDirectory: string | undefined;
}

/**
 * Starts a command that ends when this process ends, even by `kill -9`. A shell between the two reads a pipe from this
 * process. Once the pipe is closed, the shell sends SIGINT, which means a fast shutdown to Postgres. It repeats the
 * signal until the command has ended, because a command that has just started ignores it.
 */
export async function spawnBoundToParent(
  command: string[],
  { cwd, log, temporaryDirectory = '' }: BoundProcessOptions,
): Promise<ChildProcess> {
  const script = `
    directory=$1
    shift
    exec 3<&0
    "$@" 3<&- &
    server=$!
    { cat <&3 >/dev/null; while kill -INT $server; do sleep 1; done; } 2>/dev/null &
    watcher=$!
    wait $server
    status=$?
    kill $watcher 2>/dev/null
    test -z "$directory" || rm -rf "$directory"
    exit $status`;
  await using logFile = await open(log, 'a', 0o600);
  const child = spawn('/bin/sh', ['-c', script, 'sh', temporaryDirectory, ...command], {
    cwd,
    // In its own session the command gets no Ctrl-C from the terminal, so Usher can close its connections first.
    detached: true,
    stdio: ['pipe', logFile.fd, logFile.fd],
  });
  child.stdin?.on('error', () => {});
  await once(child, 'spawn');
  // Such as that it cannot be ended.
  child.on('error', () => {});
  return child;
}

/** Ends the command and waits until it has ended. */
export async function stop(child: ChildProcess): Promise<void> {
  const exited = isRunning(child) ? once(child, 'exit') : undefined;
  child.stdin?.destroy();
  await exited;
}

/** Returns whether the shell still runs. It ends with the command. */
export function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}
