/** Usher started as an operator does, on its own Postgres, until it has answered a call. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readUsage } from '../read-usage.ts';
import { findFreePort } from '../start-server.ts';

export interface Start {
  /** From the command to the first reply that is a success. */
  readonly firstCallMs: number;
  /** Of the Node process, once it has nothing to do. */
  readonly residentBytes: number;
}

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const PATIENCE_MS = 30_000;
const IDLE_MS = 500;

/** Where there is no data yet it is made, so that the first start takes longer. */
export async function measureStart(directory: string): Promise<Start> {
  const port = await findFreePort();
  const startedAt = performance.now();
  const child = spawn(process.execPath, [MAIN], {
    cwd: directory,
    env: { PATH: process.env.PATH, PORT: String(port), DATA_DIR: join(directory, 'data') },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  try {
    while (!(await hasAnswered(port, directory))) {
      if (child.exitCode !== null || performance.now() - startedAt > PATIENCE_MS)
        throw new Error('Usher does not start');
      await sleep(2);
    }
    const firstCallMs = performance.now() - startedAt;
    await sleep(IDLE_MS);
    return { firstCallMs, residentBytes: readUsage(child.pid ?? 0).residentBytes };
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
}

/** What any start of Node takes, for comparison. */
export async function measureBareStart(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ['-e', '0']), 'exit');
  return performance.now() - startedAt;
}

async function hasAnswered(port: number, directory: string): Promise<boolean> {
  try {
    const { apiKey, webhookId } = JSON.parse(await readFile(join(directory, 'data', 'demo.json'), 'utf8'));
    const headers = { 'x-api-key': apiKey, connection: 'close' };
    const { status } = await fetch(`http://127.0.0.1:${port}/api/webhooks/${webhookId}`, { headers });
    return status === 200;
  } catch {
    return false;
  }
}
