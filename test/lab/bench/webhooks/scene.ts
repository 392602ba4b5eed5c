import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import postgres from 'postgres';
import { openClient } from '../../../../src/database/connection/open-client.ts';
import { endProcess } from '../../../support/end-process.ts';
import type { Fixtures } from '../fixtures.ts';
import type { Progress } from '../run-bench.ts';
import { prepareDatabase } from '../set-up.ts';

/** What throughput and latency are measured with. */
export interface Scene {
  readonly progress: Progress;
  readonly fixtures: Fixtures;
  readonly databaseUrl: string;
  /** The settings of Usher. */
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly sql: postgres.Sql;
  readonly receiver: Receiver;
}

/** The body of a message, and when it came, in milliseconds since the epoch. */
type ReceivedMessage = readonly [body: string, at: number];

interface Receiver {
  readonly url: string;
  /** Forgets what has come. `arrived` resolves when so many messages have come. */
  expect(count: number): Promise<{ readonly arrived: Promise<readonly ReceivedMessage[]> }>;
}

/** Against hanging. */
const TIMEOUT_MS = 600_000;

/** Starts a Postgres with the rows of the benchmark, and a receiver. */
export async function openScene(stack: AsyncDisposableStack, progress: Progress): Promise<Scene> {
  const { fixtures, environment, directory } = await prepareDatabase(stack, 1, progress);
  const { DATABASE_URL: databaseUrl = '' } = environment;
  const sql = openClient(databaseUrl, { max: 1, onnotice: () => {}, transform: postgres.camel });
  stack.defer(() => sql.end());
  return {
    ...{ progress, fixtures, databaseUrl, directory, sql },
    environment: { ...environment, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' },
    receiver: await startReceiver(stack),
  };
}

/** Starts the receiver in a process of its own. Disposing of the stack stops it. */
async function startReceiver(stack: AsyncDisposableStack): Promise<Receiver> {
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

/** Starts a file, which is named from this folder, with a channel to it. Disposing of the stack stops it. */
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
  stack.defer(() => endProcess(child));
  return child;
}
