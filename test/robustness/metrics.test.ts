/** Metrics under attack, and as a real Prometheus sees them. */

import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { cloneDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { findFreePort } from '../support/free-port.ts';
import { type HttpRequest, openHttpClient, request } from '../support/http.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { MailServer } from '../support/mail-server.ts';
import { METRICS_DIRECTORY, readDashboard, readPage, SKIPS_PROMETHEUS } from '../support/metric-documents.ts';
import { MEASURED, openMetrics, type Scrape, scrape } from '../support/metrics.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { createTenant, createTestWebhook } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

/** A call of each shape, all of whose free parts are random. */
function hostileCalls(apiKey: string): HttpRequest[] {
  const word = () => randomBytes(8).toString('hex');
  const key = { 'x-api-key': apiKey };
  const json = { 'content-type': 'application/json' };
  const rpc = (path: string, headers: Record<string, string> = {}, body = '{}') => ({
    method: 'POST',
    path,
    body,
    headers: { ...json, ...headers },
  });
  return [
    { path: `/api/webhooks/wh_${word()}${word()}`, headers: key },
    { path: `/api/webhooks/${word()}`, headers: { ...key, 'x-request-id': word(), 'user-agent': word() } },
    { path: `/api/${word()}/${word()}?${word()}=${word()}`, headers: key },
    { path: `/api/events/${word()}`, method: 'DELETE', headers: { 'x-api-key': word() } },
    { path: `/${word()}` },
    {
      path: '/api/events',
      method: word()
        .replaceAll(/[^a-f]/g, 'A')
        .toUpperCase(),
    },
    rpc('/usher.v1.WebhookService/GetWebhook', key, JSON.stringify({ webhookId: word() })),
    rpc('/usher.v1.WebhookService/GetWebhook', { ...key, 'connect-timeout-ms': word() }),
    rpc('/usher.v1.WebhookService/GetWebhook', { ...key, 'content-encoding': word() }),
    rpc(`/usher.v1.WebhookService/Get${word()}`, key),
    rpc(`/usher.v1.X${word()}/GetWebhook`, key),
    rpc('/usher.v1.SessionService/CheckSession', key, JSON.stringify({ sessionId: randomUUID() })),
    rpc('/grpc.health.v1.Health/Check', {}, JSON.stringify({ service: word() })),
    rpc('/usher.v1.AdminService/GetUser', { 'x-admin-key': word() }),
    { path: `/login?intent=${randomUUID()}&problem=${word()}` },
    { path: `/login/${word()}` },
    rpc('/login/email', { 'content-type': 'application/x-www-form-urlencoded' }, `token=${word()}&email=${word()}`),
  ];
}

const ROUNDS = quickOrLong(10, 6_000);
/** Clients of each kind that hold the metrics port, which accepts 32. */
const HELD = quickOrLong(20, 200);

const fixture = await LoginFixture.open({ config: MEASURED });
afterAll(() => fixture.close());

// First, before others have asked for the backlog.
test('scrapes at the same time share one', async () => {
  const collect = vi.fn(() => fixture.service.collect?.() ?? expect.unreachable());
  await using metrics = await openMetrics({ collect });
  const startedAt = performance.now();
  const texts = await Promise.all(Array.from({ length: 20 }, async () => (await fetch(metrics.url)).text()));
  // They share one for a second, and on a busy machine they may not all come within a second.
  const collected = collect.mock.calls.length;
  expect(collected).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 1_000);
  expect(new Set(texts).size).toBe(collected);
  const found = await scrape(metrics);
  const backlog = { db_query_summary: 'selectBacklog' };
  expect(found.sum('db_client_operation_duration_seconds_count', backlog)).toBe(collected);
});

test('hostile calls add no series, however many', async () => {
  const { service, tenant } = fixture;
  await using metrics = await openMetrics(service);
  using client = openHttpClient(service.url, { httpVersion: '1.1' });
  const callAll = async () => {
    for (const call of hostileCalls(tenant.apiKey)) await client.send(call);
  };
  // The first round has the series of all shapes; a look-up that is not repeated has one of its own.
  for (let round = 0; round < 3; round++) await callAll();
  await scrape(metrics);
  const before = await scrape(metrics);
  expect(before.sum('rpc_server_call_duration_seconds_count')).toBeGreaterThan(20);

  for (let round = 0; round < ROUNDS; round++) await callAll();
  const after = await scrape(metrics);
  expect(after.sum('rpc_server_call_duration_seconds_count')).toBeGreaterThan(ROUNDS * 5);
  // Jobs of the service have statements of their own.
  const ofCalls = ({ names }: Scrape) => names.filter((name) => !/^db_|^usher_expired/.test(name));
  expect(ofCalls(after)).toEqual(ofCalls(before));
  const statements = new Set(after.series.flatMap(({ labels }) => labels.db_query_summary ?? []));
  expect([...statements].filter((name) => !/^[a-z][A-Za-z]+$/.test(name))).toEqual([]);
});

test('clients of the metrics port cannot take the service away, nor the port for long', async () => {
  await using database = await cloneDatabase();
  await using main = await startUsher(database.url, { METRICS_PORT: '0' }, { keepsLog: true });
  const { origin, port } = new URL(await metricsUrlOf(main));
  const status = (options: HttpRequest) => request(origin, options).then((reply) => reply.status);
  expect(await status({ path: '/metrics' })).toBe(200);
  expect(await status({ path: '/metrics?name[]=x' })).toBe(200);
  expect(await status({ path: '/metrics', method: 'HEAD' })).toBe(200);
  expect(await status({ path: '/metrics', method: 'POST', body: 'x' })).toBe(405);
  for (const path of ['/', '/metrics/', '/api/webhooks', '/healthz', '/../metrics'])
    expect(await status({ path })).toBe(404);

  const tenant = await createTenant(main);
  const { webhookId } = await createTestWebhook(main, tenant);
  const call = { path: `/api/webhooks/${webhookId}`, headers: { 'x-api-key': tenant.apiKey } };
  const [line, header] = ['GET /metrics HTTP/1.1\r\n', `X: ${'x'.repeat(4_000)}`];
  const body = 'POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\nx';
  const held = ['', line + header, line + `${header}\r\n`.repeat(100), body, `${line}Host: a\r\n\r\n`.repeat(100)];
  const texts = Array.from({ length: HELD }, () => held).flat();
  const sockets = await Promise.all(texts.map((text) => hold(Number(port), text)));
  for (let count = 0; count < 20; count++) expect((await request(main.url, call)).status).toBe(200);
  await expect.poll(() => status({ path: '/metrics' }).catch(() => 0)).toBe(200);
  // Each of them is closed, those that hold the port after 5 seconds.
  await Promise.all(sockets.map(untilClosed));
  expect(main.errors).toBe('');
});

test('a connection to the metrics port has one response at most, however many requests it sends', async () => {
  await using metrics = await openMetrics(fixture.service);
  const socket = await hold(metrics.port, 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_000));
  let received = '';
  socket.setEncoding('utf8').on('data', (text) => {
    received += text;
  });
  await untilClosed(socket);
  expect(received.match(/HTTP\/1\.1 \d+/g)?.length ?? 0).toBeLessThanOrEqual(1);
});

test.skipIf(SKIPS_PROMETHEUS)(
  'a real Prometheus answers every query of the dashboard and evaluates every alert',
  async () => {
    await using database = await cloneDatabase();
    await using mail = await MailServer.start();
    await using main = await startUsher(
      database.url,
      { METRICS_PORT: '0', LOGIN_METHODS: 'wallet', SMTP_URL: mail.url, MAIL_FROM: 'usher@usher.test' },
      { keepsLog: true },
    );
    await using prometheus = await Prometheus.start(new URL(await metricsUrlOf(main)).host);
    const tenant = await createTenant(main);
    const callAll = async () => {
      for (const call of hostileCalls(tenant.apiKey)) await request(main.url, call);
    };
    await callAll();
    await expect.poll(async () => (await prometheus.query('usher_build_info')).length).toBe(1);
    // A rate needs two scrapes.
    await expect
      .poll(async () => {
        await callAll();
        return (await prometheus.query('sum(rate(rpc_server_call_duration_seconds_count[1m])) > 0')).length;
      })
      .toBe(1);

    const findEmpty = async () => {
      const empty: string[] = [];
      for (const { title, expr } of readDashboard()) if ((await prometheus.query(expr)).length === 0) empty.push(title);
      return empty;
    };
    // Nothing of the kind has happened. On a busy machine a scrape may be late, after which gauges have no value.
    const unused = ['Failed statements', 'Expired rows'];
    await expect.poll(async () => (await findEmpty()).filter((title) => !unused.includes(title))).toEqual([]);
    await expect.poll(() => prometheus.failedRules()).toEqual([]);
    expect((await prometheus.query('ALERTS{alertstate="firing"}')).map(({ metric }) => metric.alertname)).toEqual([]);
  },
);

async function metricsUrlOf(main: UsherProcess): Promise<string> {
  const find = () => /"url":"([^"]+)","msg":"metrics listening"/.exec(main.stdout)?.[1] ?? '';
  await expect.poll(find).not.toBe('');
  return find();
}

/** Opens a connection, sends the text and reads nothing. */
async function hold(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

/** Reads until the service has closed the connection, or has reset it. */
async function untilClosed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.resume().once('close', resolve));
}

/** A real Prometheus, of Debian's package `prometheus`, that scrapes what a test tells it to. */
class Prometheus {
  readonly #url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.#url = url;
    this.#close = close;
  }

  /** Scrapes the target, such as `127.0.0.1:9464`, once a second. */
  static async start(target: string): Promise<Prometheus> {
    const directory = await createDirectory();
    const { scrape_configs: jobs, ...settings } = parse(readPage('prometheus.yaml'));
    const config = {
      ...settings,
      global: { evaluation_interval: '1s' },
      scrape_configs: [
        { ...jobs[0], scrape_interval: '1s', scrape_timeout: '1s', static_configs: [{ targets: [target] }] },
      ],
      rule_files: settings.rule_files.map((name: string) => join(METRICS_DIRECTORY, name)),
    };
    await writeFile(join(directory, 'prometheus.yml'), JSON.stringify(config));
    const port = await findFreePort();
    const args = [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${directory}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    const child = spawn('prometheus', args, { stdio: 'ignore' });
    const exited = once(child, 'exit');
    const prometheus = new Prometheus(`http://127.0.0.1:${port}`, async () => {
      child.kill('SIGKILL');
      await exited;
    });
    await expect.poll(() => prometheus.#get('/-/ready')).toContain('Ready');
    return prometheus;
  }

  /** Returns the values of a query now. */
  async query(expr: string): Promise<{ readonly metric: Record<string, string>; readonly value: number }[]> {
    const { status, data, error } = JSON.parse(
      await this.#get(`/api/v1/query?${new URLSearchParams({ query: expr })}`),
    );
    if (status !== 'success') throw new Error(`${error}: ${expr}`);
    return data.result.map(
      ({ metric, value: [, value] }: { metric: Record<string, string>; value: [number, string] }) => ({
        metric,
        value: Number(value),
      }),
    );
  }

  /** Returns the names of its rules that cannot be evaluated. */
  async failedRules(): Promise<string[]> {
    const { data } = JSON.parse(await this.#get('/api/v1/rules'));
    const rules: { name: string; health: string }[] = data.groups.flatMap(({ rules }: { rules: unknown }) => rules);
    return rules.filter(({ health }) => health !== 'ok').map(({ name }) => name);
  }

  readonly [Symbol.asyncDispose] = (): Promise<void> => this.#close();

  async #get(path: string): Promise<string> {
    const response = await fetch(this.#url + path).catch(() => undefined);
    return response ? await response.text() : '';
  }
}
