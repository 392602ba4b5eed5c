import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readUsage } from '../read-usage.ts';
import { USHER } from '../servers.ts';
import { startServer } from '../start-server.ts';

export interface StartMeasurement {
  /** From the command to the first successful response. */
  readonly firstCallMs: number;
  /** Of the Node process while it is idle. */
  readonly residentBytes: number;
}

const TIMEOUT_MS = 30_000;
const IDLE_MS = 500;

/** Starts Usher with the embedded Postgres, as an operator does, and makes a call. A first start takes longer. */
export async function measureStart(directory: string): Promise<StartMeasurement> {
  await using stack = new AsyncDisposableStack();
  const startedAt = performance.now();
  const environment = { PATH: process.env.PATH ?? '', DATA_DIR: join(directory, 'data') };
  const { pid, ports } = await startServer(stack, USHER, { environment, directory });
  while (!(await isAnswering(ports['1.1'], directory))) {
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error('Usher does not answer');
    await sleep(2);
  }
  const firstCallMs = performance.now() - startedAt;
  await sleep(IDLE_MS);
  return { firstCallMs, residentBytes: readUsage(pid).residentBytes };
}

/** Returns how many milliseconds Node takes to start, for comparison. */
export async function measureBareStart(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ['-e', '0']), 'exit');
  return performance.now() - startedAt;
}

async function isAnswering(port: number, directory: string): Promise<boolean> {
  try {
    const { apiKey, webhookId } = JSON.parse(await readFile(join(directory, 'data', 'demo.json'), 'utf8'));
    const headers = { 'x-api-key': apiKey, connection: 'close' };
    const { status } = await fetch(`http://127.0.0.1:${port}/api/webhooks/${webhookId}`, { headers });
    return status === 200;
  } catch {
    return false;
  }
}
