/** What breaks a server in a test. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TcpProxy } from './tcp-proxy.ts';
import type { OutageKind } from './test-usher.ts';

/** How long the answer to each statement takes. */
const SLOW_MS = 2_000;
const READY_MS = 30_000;

export interface BreakableServer {
  readonly url: string;
  /** Between the server and Postgres. */
  readonly proxy: TcpProxy;
  stop(): Promise<void>;
  /** Starts it on the same port. */
  start(): Promise<void>;
}

/** Returns what ends the outage, and resolves when the server is ready again. */
export async function beginOutage({ url, proxy, stop, start }: BreakableServer, kind: OutageKind) {
  const hold = (milliseconds: number) => {
    proxy.holdMs = milliseconds;
  };
  const stages = {
    database: [() => proxy.setMode('reset'), () => proxy.setMode('pass')],
    slow: [() => hold(SLOW_MS), () => hold(0)],
    refused: [stop, start],
  } as const;
  const [begin, end] = stages[kind] ?? [];
  if (!begin) throw new TypeError(`An outage is database, slow or refused, not ${kind}`);
  await begin();
  let ended: Promise<void> | undefined;
  const endOnce = async () => {
    await end();
    await waitUntilReady(url);
  };
  return {
    [Symbol.asyncDispose]() {
      ended ??= endOnce();
      return ended;
    },
  };
}

async function waitUntilReady(url: string): Promise<void> {
  const until = performance.now() + READY_MS;
  for (;;) {
    const status = await fetch(`${url}/readyz`).then(
      async (response) => {
        await response.body?.cancel();
        return response.status;
      },
      () => undefined,
    );
    if (status === 200) return;
    if (performance.now() > until)
      throw new Error(`Usher is not ready ${READY_MS / 1_000} s after the outage: ${status}`);
    await sleep(10);
  }
}
