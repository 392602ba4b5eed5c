/** `grpc.health.v1.Health`, and the operations endpoints over HTTP. */
import { once } from 'node:events';
import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterAll, describe, expect, test } from 'vitest';
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/health/v1/health_pb.ts';
import { SERVED_SERVICES } from '../../../src/api/catalogue.ts';
import { pathOf } from '../../../src/api/procedures.ts';
import { GrpcClient } from '../../support/grpc-client.ts';
import { request } from '../../support/http.ts';
import { openHttp2Session, readReply } from '../../support/http2-session.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { startTestService } from '../../support/service.ts';
import { testReads } from '../../support/test-reads.ts';

const NAMES = ['', ...SERVED_SERVICES.map(({ typeName }) => typeName)];

const service = await startTestService();
const client = new GrpcClient(service);

afterAll(async () => {
  client[Symbol.dispose]();
  await service.close();
});

describe('grpc.health.v1.Health', () => {
  const check = (name: string) =>
    client.unary(Health.method.check, create(HealthCheckRequestSchema, { service: name }));
  const watch = (name: string) =>
    client.serverStream(Health.method.watch, create(HealthCheckRequestSchema, { service: name }));

  test('reports each service as SERVING, to callers without a key', async () => {
    const outcomes = await Promise.all(NAMES.map(check));
    expect(outcomes.map(({ message }) => message?.status)).toEqual(NAMES.map(() => ServingStatus.SERVING));
  });

  test.each(['usher.v1.NoService', 'usher', 'usher.v1.AuthService/ExchangeToken', ' '])(
    'reports the unknown service "%s" as NOT_FOUND',
    async (name) => {
      expect(await check(name)).toMatchObject({ code: 'NOT_FOUND', message: undefined });
    },
  );

  test('lists every service', async () => {
    const { message } = await client.unary(Health.method.list, create(Health.method.list.input));
    const statuses = Object.entries(message?.statuses ?? {}).map(([name, { status }]) => [name, status]);
    expect(Object.fromEntries(statuses)).toEqual(
      Object.fromEntries(NAMES.map((name) => [name, ServingStatus.SERVING])),
    );
  });

  test('tells watchers the status once and again only when it changes', async () => {
    const watching = watch('usher.v1.AuthService');
    const seen: ServingStatus[] = [];
    watching.on('data', ({ status }) => seen.push(status));
    await once(watching, 'data');
    // Longer than the interval at which a status is read.
    await sleep(1_200);
    watching.cancel();
    await expect(once(watching, 'end')).rejects.toMatchObject({ code: status.CANCELLED });
    expect(seen).toEqual([ServingStatus.SERVING]);
  });
});

describe.each([
  ['application/grpc', { 'grpc-status': '8' }],
  ['application/grpc-web+proto', { 'grpc-status': '8' }],
  ['application/connect+proto', {}],
])('a watch over %s', (contentType, headers) => {
  test('is refused as RESOURCE_EXHAUSTED beside ten others, until one of them ends', async () => {
    using connection = openHttp2Session(service.url);
    const open = () => {
      const stream = connection.open({
        ':method': 'POST',
        ':path': pathOf(Health.method.watch),
        'content-type': contentType,
      });
      stream.end(Buffer.alloc(5));
      return stream;
    };
    const watches = Array.from({ length: 10 }, open);
    await Promise.all(watches.map((watch) => once(watch, 'data')));

    const refused = await readReply(open());
    expect({ ...refused, ...refused.trailers }).toMatchObject({ status: 200, headers });
    if (refused.body)
      expect(refused.body).toContain('{"error":{"code":"resource_exhausted","message":"Too many open streams",');

    watches[0]?.close(constants.NGHTTP2_CANCEL);
    const next = open();
    expect(await Promise.race([once(next, 'data'), readReply(next)])).toEqual([expect.any(Buffer)]);
  });
});

test('a check over gRPC-Web is refused as RESOURCE_EXHAUSTED beside ten others whose body is to come', async () => {
  using connection = openHttp2Session(service.url);
  const headers = {
    ':method': 'POST',
    ':path': pathOf(Health.method.check),
    'content-type': 'application/grpc-web+proto',
  };
  const pending = Array.from({ length: 10 }, () => connection.open(headers));
  const refused = connection.open(headers);
  expect((await readReply(refused)).headers).toMatchObject({ 'grpc-status': String(status.RESOURCE_EXHAUSTED) });
  // The others are answered, and make room.
  const replies = pending.map((stream) => readReply(stream));
  for (const stream of pending) stream.end(Buffer.alloc(5));
  for (const reply of await Promise.all(replies)) expect(reply.bytes.toString('latin1')).toContain('grpc-status: 0');
  expect((await connection.exchange(headers, Buffer.alloc(5))).bytes.toString('latin1')).toContain('grpc-status: 0');
});

describe.each(['/healthz', '/readyz'])('%s', (path) => {
  test.each(['1.0', '1.1'])('answers probes over HTTP/%s that send no Host', async (version) => {
    using connection = await RawConnection.open(service.port);
    connection.send(`GET ${path} HTTP/${version}\r\n\r\n`);
    expect(await connection.reply()).toMatchObject({ status: 200 });
  });

  test('returns 400 for an invalid Host', async () => {
    expect(await request(service.url, { path, headers: { host: 'a b' } })).toMatchObject({ status: 400 });
  });
});

describe.each(['/healthz', '/readyz', '/.well-known/jwks.json'])('%s', (path) => testReads(service, path));

test('a wrong path is a page for a browser, and an error body for a program', async () => {
  const path = '/acount';
  const page = await request(service.url, { path, headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
  expect(page).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } });
  expect(page.body).toContain('There is no such page');
  expect(page.body).toContain(`<code dir="ltr">${page.headers['x-request-id']}</code>`);
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
    const { status, body } = await request(service.url, { path, headers });
    expect({ status, reason: JSON.parse(body).reason }).toEqual({ status: 404, reason: 'NOT_FOUND' });
  }
});

test('a wrong path is a page in the language of its reader, who can choose another there', async () => {
  const open = (path: string, language: string) =>
    request(service.url, { path, headers: { accept: 'text/html', 'accept-language': language } });
  const german = await open('/acount', 'de-CH, en;q=0.5');
  expect(german.body).toContain('<html lang="de"');
  expect(german.body).toContain('Diese Seite gibt es nicht');
  const arabic = await open('/acount?lang=ar', 'de');
  expect(arabic.body).toContain('<html lang="ar" dir="rtl">');
  // The form that changes the language leads to this host, even from a path that looks like another.
  for (const path of ['//evil.test/x', '/login/nothing/here']) {
    const [, action = ''] =
      /<form class="language" method="get" action="([^"]*)"/.exec((await open(path, 'en')).body) ?? [];
    expect(new URL(action, `${service.url}/acount`).origin, path).toBe(service.url);
  }
});
