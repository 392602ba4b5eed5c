import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { describeDemo } from '../../src/demo/demo.ts';
import { createLogger } from '../../src/log.ts';
import { startServer, type UsherServer } from '../../src/server.ts';
import { request } from '../support/http.ts';

const logger = createLogger('silent');

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
  it('is ready, and its demo prints commands with all their parameters', async () => {
    expect((await request(service.url, { path: '/readyz' })).status).toBe(200);
    const { demo } = service;
    if (!demo) throw new Error('No demo');
    const commands = describeDemo(service.url, demo);
    for (const value of [demo.apiKey, demo.clientId, demo.redirectUri, demo.webhookId, demo.authToken, demo.authUrl]) {
      expect(value).toBeTruthy();
      expect(commands).toContain(value);
    }
  });

  it('shows at /demo/callback what an application gets for the token', async () => {
    const { state = '', authToken = '', email } = service.demo ?? {};
    const page = await callback({ state, authToken });
    expect(page).toContain('You are signed in');
    expect(page).toContain(email);
    expect(await callback({ state, error: 'access_denied' })).toContain('You did not sign in');
    expect(await callback({ state, authToken: 'no token' })).toContain('Invalid or expired token');
    expect(await callback({ state: 'another', authToken })).toContain('This answer was not meant for us');
  });

  it('restarts Postgres after a crash, with nothing lost', async () => {
    const before = await getWebhook();
    const crashed = await postmasterPid();
    process.kill(crashed, 'SIGKILL');
    await expect.poll(() => getWebhook().catch(() => undefined), { timeout: 20_000 }).toEqual(before);
    await expect.poll(() => isAlive(crashed)).toBe(false);
    await expect.poll(postmasterPid).not.toBe(crashed);
    await expect.poll(() => getWebhook().catch(() => undefined), { timeout: 20_000 }).toEqual(before);
  });

  it('has the same data at the next start, but no auth token', async () => {
    const before = await getWebhook();
    const pid = await postmasterPid();
    await service.close();
    expect(isAlive(pid)).toBe(false);
    service = await start();
    expect(await getWebhook()).toEqual(before);
    expect(service.demo?.authToken).toBeUndefined();
    expect(describeDemo(service.url, service.demo ?? raise())).toMatch(/A first call:\n\ncurl /);
  });
});

async function start(): Promise<UsherServer> {
  const config = readConfig({ PORT: '0', DATA_DIR: dataDir }, () => raise());
  return startServer(config, { logger });
}

async function callback(answer: Record<string, string>): Promise<string> {
  return (await request(service.url, { path: `/demo/callback?${new URLSearchParams(answer)}` })).body;
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

function raise(): never {
  throw new Error('Not expected');
}
