import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** The body of a message, and when it came, in milliseconds since the epoch. */
type ReceivedMessage = readonly [body: string, at: number];

export interface Receiver {
  readonly url: string;
  /** Forgets what has come. `arrived` resolves when so many messages have come. */
  expect(count: number): Promise<{ readonly arrived: Promise<readonly ReceivedMessage[]> }>;
}

const TIMEOUT_MS = 120_000;

/** Starts the receiver in a process of its own. Disposing of the stack stops it. */
export async function startReceiver(stack: AsyncDisposableStack): Promise<Receiver> {
  const child = startChild(stack, 'receiver.ts');
  const [{ port }] = await once(child, 'message');
  return {
    url: `http://127.0.0.1:${port}`,
    async expect(count) {
      child.send({ expect: count });
      await once(child, 'message');
      const arrived = once(child, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) });
      return { arrived: arrived.then(([{ received }]) => received) };
    },
  };
}

/** Starts a file of this folder with a channel to it. Disposing of the stack stops it. */
export function startChild(
  stack: AsyncDisposableStack,
  file: string,
  parameters: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const child = fork(new URL(file, import.meta.url), parameters, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  stack.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return child;
}
