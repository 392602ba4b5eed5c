/** What breaks a server in a test. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../client/errors.ts';
import type { TcpProxy } from './tcp-proxy.ts';
import type { OutageKind, TestUsher } from './test-usher.ts';

/** How long the answer to each statement takes. */
const SLOW_MS = 2_000;
const READY_MS = 30_000;

export interface BreakableServer {
  readonly url: string;
  readonly admin: Pick<TestUsher['admin'], 'deleteUser' | 'listApplications'>;
  /** Between the server and Postgres. */
  readonly proxy: TcpProxy;
  stop(): Promise<void>;
  /** Starts it on the same port. */
  start(): Promise<void>;
}

/** Returns what ends the outage, and resolves when the server is ready again. */
export async function beginOutage({ url, admin, proxy, stop, start }: BreakableServer, kind: OutageKind) {
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
    await waitUntil(async () => (await isReady(url)) && (await canCall(admin)));
  };
  return {
    [Symbol.asyncDispose]() {
      ended ??= endOnce();
      return ended;
    },
  };
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + READY_MS;
  while (!(await isSo())) {
    if (performance.now() > until) throw new Error(`Usher is not ready ${READY_MS / 1_000} s after the outage`);
    await sleep(10);
  }
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`).catch(() => undefined);
  await response?.body?.cancel();
  return response?.status === 200;
}

/** Readiness has a connection of its own. Those on which calls read and write are opened half a second later. */
async function canCall(admin: BreakableServer['admin']): Promise<boolean> {
  const calls = [admin.listApplications({ pageSize: 1 }), admin.deleteUser({ userId: randomUUID() })];
  const [read, written] = await Promise.allSettled(calls);
  return (
    read?.status === 'fulfilled' && written?.status === 'rejected' && reasonOf(written.reason) === 'USER_NOT_FOUND'
  );
}
