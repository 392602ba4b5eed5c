import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { createLogger } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { request } from '../support/http.ts';

test('an embedded Postgres is restarted after a crash, with nothing lost', async () => {
  await using disposables = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'usher-embedded-'));
  disposables.defer(() => rm(dataDir, { recursive: true, force: true }));
  const config = readConfig({ PORT: '0', DATA_DIR: dataDir }, () => '');
  const service = await startServer(config, { logger: createLogger('silent') });
  disposables.defer(() => service.close());
  const { webhookId = '', apiKey = '' } = service.demo ?? {};
  const getWebhook = () =>
    request(service.url, { path: `/api/webhooks/${webhookId}`, headers: { 'x-api-key': apiKey } }).then(
      ({ status, body }) => ({ status, body }),
      () => undefined,
    );
  const postmasterPid = async () =>
    Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);

  const before = await getWebhook();
  expect(before?.status).toBe(200);
  const crashed = await postmasterPid();
  process.kill(crashed, 'SIGKILL');
  await expect.poll(getWebhook, { timeout: 20_000 }).toEqual(before);
  await expect.poll(() => isAlive(crashed)).toBe(false);
  await expect.poll(postmasterPid).not.toBe(crashed);
  await expect.poll(getWebhook, { timeout: 20_000 }).toEqual(before);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process exists but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
