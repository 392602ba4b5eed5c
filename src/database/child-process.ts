/** Child processes that do not outlive this one, however it ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';

/**
 * Runs the command under a shell that holds the other end of a pipe of ours. When the pipe closes,
 * because we close it or because this process is gone, the shell sends SIGINT, a fast shutdown, until
 * the command has ended: one that has only just begun does not heed the first.
 */
export async function spawnWithLifeline(command: string[], log: string): Promise<ChildProcess> {
  const script = `
    exec 3<&0
    "$@" 3<&- &
    server=$!
    { cat <&3 >/dev/null; while kill -INT $server; do sleep 1; done; } 2>/dev/null &
    lifeline=$!
    wait $server
    kill $lifeline 2>/dev/null`;
  await using logFile = await open(log, 'a', 0o600);
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...command], {
    // A session of its own: a Ctrl-C in the terminal is for us, who then close in order.
    detached: true,
    stdio: ['pipe', logFile.fd, logFile.fd],
  });
  child.stdin?.on('error', () => {});
  await once(child, 'spawn');
  return child;
}

/** Closes the lifeline and waits for the end. */
export async function stop(server: ChildProcess): Promise<void> {
  const exited = isRunning(server) ? once(server, 'exit') : undefined;
  server.stdin?.destroy();
  await exited;
}

export function isRunning(server: ChildProcess): boolean {
  return server.exitCode === null && server.signalCode === null;
}
