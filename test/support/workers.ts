/** Runs Usher with several workers. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { request } from './http.ts';
import { startMain, type UsherProcess } from './process.ts';
import { RawConnection } from './raw-connection.ts';

export interface LogLine {
  readonly msg: string;
  readonly worker?: number;
  readonly requestId?: string;
  readonly url?: string;
}

export function startWorkers(dataDir: string, env: Record<string, string> = {}, dotEnv = ''): Promise<UsherProcess> {
  return startMain({ env: { PORT: '0', WORKERS: '2', DATA_DIR: dataDir, ...env }, files: { '.env': dotEnv } });
}

/** Returns the whole log lines that it has written so far. */
export function logOf({ stdout }: UsherProcess): LogLine[] {
  return stdout
    .slice(0, stdout.lastIndexOf('\n'))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

export async function workerPids(main: UsherProcess): Promise<number[]> {
  return [...(await main.descendants())].filter(([, command]) => /\/worker\.ts$/.test(command)).map(([pid]) => pid);
}

/** Makes calls over new connections, and resolves to the IDs of the workers that answer them. */
export async function answeringWorkers(main: UsherProcess, calls: number): Promise<number[]> {
  const ids: string[] = Array.from({ length: calls }, () => randomUUID());
  for (const id of ids) {
    const { status } = await request(main.url, { path: '/api/webhooks/x', headers: { 'x-request-id': id } });
    expect(status).toBe(401);
  }
  const lines = () => logOf(main).filter(({ requestId = '' }) => ids.includes(requestId));
  await expect.poll(() => lines().length).toBeGreaterThanOrEqual(calls);
  return lines().map(({ worker = Number.NaN }) => worker);
}

/** Resolves when so many workers answer calls, none of them in `without`. */
export async function waitForWorkers(
  main: UsherProcess,
  count: number,
  without: readonly number[] = [],
): Promise<void> {
  const areReady = async () => {
    const workers = new Set(await answeringWorkers(main, 6).catch(() => []));
    return workers.size === count && without.every((worker) => !workers.has(worker));
  };
  // As long as a start may take.
  await expect.poll(areReady, { interval: 100, timeout: 60_000 }).toBe(true);
}

export interface Demo {
  readonly apiKey: string;
  readonly applicationId: string;
  readonly clientId: string;
  readonly userId: string;
  readonly webhookId: string;
  readonly redirectUris: readonly string[];
}

/** Reads the demo that the first start has created in the data directory. */
export async function readDemo(dataDir: string): Promise<Demo> {
  return JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
}

/** Begins calls and sends all but the last byte of their bodies. `finish` sends it and resolves to the status. */
export async function beginCalls(
  main: UsherProcess,
  { apiKey, clientId, redirectUris: [redirectUri] }: Pick<Demo, 'apiKey' | 'clientId' | 'redirectUris'>,
  count: number,
) {
  const body = JSON.stringify({ redirectUri, state: 's' });
  const head = [
    `POST /api/oauth/generate-auth-url?clientId=${clientId} HTTP/1.1`,
    ...['Host: usher.test', `X-API-Key: ${apiKey}`, 'Content-Type: application/json', 'Expect: 100-continue'],
    `Content-Length: ${body.length}`,
  ].join('\r\n');
  return Promise.all(
    Array.from({ length: count }, async () => {
      const connection = await RawConnection.open(main.port);
      connection.send(`${head}\r\n\r\n${body.slice(0, -1)}`);
      // A worker has accepted the call.
      expect((await connection.reply()).status).toBe(100);
      return {
        async finish() {
          connection.send(body.slice(-1));
          const { status } = await connection.reply();
          connection[Symbol.dispose]();
          return status;
        },
      };
    }),
  );
}
