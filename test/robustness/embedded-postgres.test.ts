import { mkdtempDisposable, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openClient } from '../../src/database/connection/open-client.ts';
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { createLogger } from '../../src/log.ts';
import { readFullConfig } from '../../src/modules/modules.ts';
import { startServer } from '../../src/server.ts';
import { isProcess } from '../../src/testing/is-process.ts';
import { demoOf } from '../support/demo-fixture.ts';
import { request } from '../support/http.ts';
import { startMain, survivorsOf } from '../support/process.ts';

const temporaryDirectory = () => mkdtempDisposable(join(tmpdir(), 'usher-embedded-'));

/** Postgres starts and recovers for longer on a busy machine. */
const POLL = { timeout: 100_000 };

const parent = await temporaryDirectory();
/** The first test creates what the others start again. The last one removes it. */
const dataDir = join(parent.path, 'data');

afterAll(() => parent.remove());

test('an embedded Postgres is restarted after a crash, with nothing lost', async () => {
  await using disposables = new AsyncDisposableStack();
  // The demo prints the webhooks that it receives.
  const config = readFullConfig({ PORT: '0', DATA_DIR: dataDir, WEBHOOK_DELIVERY: 'false' }, () => '');
  const service = await startServer(config, { logger: createLogger('silent') });
  disposables.defer(() => service.close());
  const { webhookId, apiKey } = demoOf(service);
  const getWebhook = () =>
    request(service.url, { path: `/api/webhooks/${webhookId}`, headers: { 'x-api-key': apiKey } }).then(
      ({ status, body }) => ({ status, body }),
      () => undefined,
    );
  const postmasterPid = () => readPid(dataDir);

  const before = await getWebhook();
  expect(before?.status).toBe(200);
  const crashed = await postmasterPid();
  process.kill(crashed, 'SIGKILL');
  await expect.poll(getWebhook, POLL).toEqual(before);
  await expect.poll(() => isProcess(crashed), POLL).toBe(false);
  await expect.poll(postmasterPid, POLL).not.toBe(crashed);
  await expect.poll(getWebhook, POLL).toEqual(before);
});

test('an embedded Postgres whose log was removed is restarted after a crash, too', async () => {
  await using disposables = new AsyncDisposableStack();
  const failures: string[] = [];
  const onFailure = ({ message }: Error) => void failures.push(message);
  const server = await startEmbeddedPostgres(dataDir, { durable: false, onFailure });
  disposables.defer(() => server.close());
  await rm(join(dataDir, 'postgres.log'));
  const crashed = await readPid(dataDir);
  process.kill(crashed, 'SIGKILL');
  await expect.poll(() => failures, POLL).toEqual(['The embedded Postgres has ended: its log cannot be read']);
  await expect.poll(() => readPid(dataDir), POLL).not.toBe(crashed);
});

test.runIf(process.getuid?.() === 0)('started by root, the embedded Postgres has no privilege of root', async () => {
  const secret = join(parent.path, 'secret');
  await writeFile(secret, 'secret');
  await using disposables = new AsyncDisposableStack();
  const server = await startEmbeddedPostgres(dataDir, { durable: false });
  disposables.defer(() => server.close());
  const sql = openClient(server.url, { max: 1, onnotice: () => {} });
  disposables.defer(() => sql.end());

  const status = await readFile(`/proc/${await readPid(dataDir)}/status`, 'utf8');
  expect(status).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
  expect(status.match(/^Cap(Inh|Prm|Eff|Amb):\t0{16}$/gm)).toHaveLength(4);
  await sql`create table output (line text)`;
  await sql`copy output from program 'id -u'`;
  expect(await sql`select line from output`).toEqual([{ line: '65534' }]);
  await expect(sql.unsafe(`copy output from program 'cat ${secret}'`)).rejects.toThrow('program');
});

test('of two first starts in one directory one serves, and the other says that it is in use', async () => {
  await using directory = await temporaryDirectory();
  const starts = [1, 2].map(() => startEmbeddedPostgres(directory.path, { durable: false }));
  const [{ value: server } = {}, ...others] = (await Promise.allSettled(starts)).filter(isFulfilled);
  const failures = (await Promise.allSettled(starts)).flatMap((start) => ('reason' in start ? [start.reason] : []));
  expect(others).toEqual([]);
  const pid = await readPid(directory.path);
  expect(failures.map(String)).toEqual([
    `Error: ${directory.path}/postgres is in use by another Usher, whose Postgres is process ${pid}`,
  ]);
  expect((await readdir(directory.path)).sort()).toEqual(['postgres', 'postgres.log']);
  await server?.close();
  // The next start finds all of it.
  await (await startEmbeddedPostgres(directory.path, { durable: false })).close();
});

test('a service whose data directory is removed says so in one line and exits with 1', async () => {
  await using main = await startMain({ env: { PORT: '0', DATA_DIR: dataDir } });
  const descendants = await main.descendants();
  // At once, while Postgres still adds files.
  await rename(dataDir, join(parent.path, 'removed'));
  const { exitCode } = await main.result;
  expect(exitCode).toBe(1);
  const fatal = main.stdout.split('\n').filter((line) => line.startsWith('{"level":60,'));
  expect(fatal).toHaveLength(1);
  expect(fatal[0]).toContain(`The embedded Postgres has lost its directory ${dataDir}/postgres`);
  expect(await survivorsOf(descendants)).toEqual([]);
});

async function readPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

function isFulfilled<Value>(result: PromiseSettledResult<Value>): result is PromiseFulfilledResult<Value> {
  return result.status === 'fulfilled';
}
