import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { createLogger } from '../../src/log.ts';
import { startServer, type UsherServer } from '../../src/server.ts';
import { request } from '../support/http.ts';

let dataDir: string;
let service: UsherServer;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'usher-embedded-'));
  service = await start();
});

afterAll(async () => {
  await service.close();
  await rm(dataDir, { recursive: true, force: true });
});

describe('a service with an embedded Postgres', () => {
  it('restarts Postgres after a crash, with nothing lost', async () => {
    const before = await getWebhook();
    const crashed = await postmasterPid();
    process.kill(crashed, 'SIGKILL');
    await expect.poll(() => getWebhook().catch(() => undefined), { timeout: 20_000 }).toEqual(before);
    await expect.poll(() => isAlive(crashed)).toBe(false);
    await expect.poll(postmasterPid).not.toBe(crashed);
    await expect.poll(() => getWebhook().catch(() => undefined), { timeout: 20_000 }).toEqual(before);
  });
});

async function start(): Promise<UsherServer> {
  return startServer(
    readConfig({ PORT: '0', DATA_DIR: dataDir }, () => ''),
    { logger: createLogger('silent') },
  );
}

async function getWebhook(): Promise<unknown> {
  const { webhookId = '', apiKey = '' } = service.demo ?? {};
  const { status, body } = await request(service.url, {
    path: `/api/webhooks/${webhookId}`,
    headers: { 'x-api-key': apiKey },
  });
  expect(status).toBe(200);
  return JSON.parse(body);
}

async function postmasterPid(): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process exists but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
