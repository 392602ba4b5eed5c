import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import https from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Code, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect, test } from 'vitest';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { MessageService } from '../../../gen/usher/v1/message_pb.ts';
import { createUsherClient } from '../../../src/client/usher-client.ts';
import { TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { createCertificate } from '../../support/certificate.ts';
import { cloneDatabase } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { findFreePort } from '../../support/free-port.ts';
import { REPOSITORY } from '../../support/process.ts';
import { createTenant, startTestService } from '../../support/service.ts';

test('HAProxy serves REST and gRPC by TLS in front of two servers', async () => {
  await using first = await startTestService();
  await using second = await startTestService({ database: first.database });
  const tenant = await createTenant(first);
  const directory = await createDirectory();
  const { cert, key } = await createCertificate();
  await writeFile(join(directory, 'haproxy.pem'), `${cert}\n${key}\n`);
  const port = await findFreePort();
  const haproxy = spawn('haproxy', ['-f', join(REPOSITORY, 'test/examples/haproxy/haproxy.cfg')], {
    env: {
      ...process.env,
      HAPROXY_ADDRESS: `127.0.0.1:${port}`,
      HAPROXY_CERT: join(directory, 'haproxy.pem'),
      HAPROXY_SOCKET: join(directory, 'haproxy.sock'),
      USHER_1: `127.0.0.1:${first.port}`,
      USHER_2: `127.0.0.1:${second.port}`,
    },
    stdio: 'ignore',
  });
  try {
    const getStatus = () =>
      new Promise((resolve) => {
        const options = { port, path: '/readyz', ca: cert, servername: 'localhost' };
        https.get(options, (reply) => resolve(reply.resume().statusCode)).on('error', () => resolve(0));
      });
    await expect.poll(getStatus).toBe(200);
    const transport = createGrpcTransport({ baseUrl: `https://localhost:${port}`, nodeOptions: { ca: cert } });
    const events = createClient(EventService, transport);
    const headers = { 'x-api-key': tenant.apiKey };
    for (let count = 0; count < 6; count++) expect((await events.listEvents({}, { headers })).events).toEqual([]);
  } finally {
    haproxy.kill();
  }
});

test('in an outage of Postgres, programs and people get the answers of Usher itself, and calls work soon after', async () => {
  await using database = await cloneDatabase();
  await using network = await TcpProxy.open(database.url);
  const behind = { database: { ...database, url: network.through(database.url) } };
  await using first = await startTestService(behind);
  await using second = await startTestService(behind);
  const { apiKey } = await createTenant(first);
  await using haproxy = await startHaproxy([first.port, second.port]);
  const { url } = haproxy;
  const headers = { 'x-api-key': apiKey };
  const events = createClient(EventService, createGrpcTransport({ baseUrl: url }));
  const listOverRest = () => fetch(`${url}/api/events`, { headers });
  await haproxy.waitFor('UP');
  expect((await listOverRest()).status).toBe(200);

  await network.setMode('refuse');
  await haproxy.waitFor('DOWN');
  const refused = await listOverRest();
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await refused.json()).toMatchObject({ status: false, reason: expect.stringMatching(/^[A-Z_]+$/) });
  await expect(events.listEvents({}, { headers })).rejects.toMatchObject({
    code: Code.Unavailable,
    // Not that of a reply in HTML, which the client reads as unavailable, too.
    rawMessage: 'Service unavailable',
  });
  const page = await fetch(`${url}/login?intent=00000000-0000-4000-8000-000000000000&client_id=none`);
  expect({ status: page.status, isOurs: page.headers.has('x-request-id') }).toEqual({ status: 503, isOurs: true });
  expect(await page.text()).toContain('<main');

  await network.setMode('pass');
  await haproxy.waitFor('UP');
  expect((await events.listEvents({}, { headers })).events).toEqual([]);
});

/** With a heartbeat every 15 seconds these are longer than what HAProxy allows idle connections. */
const HEARTBEATS = 5;

test('streams of a quiet application outlive the 60 seconds after which HAProxy ends idle connections', async () => {
  await using first = await startTestService();
  await using second = await startTestService({ database: first.database });
  const { apiKey } = await createTenant(first, { messageFeed: true });
  await using haproxy = await startHaproxy([first.port, second.port]);
  const { url } = haproxy;
  await haproxy.waitFor('UP');
  const headers = { 'x-api-key': apiKey };
  const streams = [
    createClient(MessageService, createGrpcTransport({ baseUrl: url })).watchMessages({}, { headers }),
    // Connect over HTTP/1.1.
    createUsherClient({ baseUrl: url, apiKey }).messages.watch({
      onRetry: (error) => expect.unreachable(String(error)),
    }),
  ];
  const countResponses = async (responses: AsyncIterable<unknown>) => {
    let count = 0;
    for await (const _ of responses) if (count++ === HEARTBEATS) break;
    return count;
  };
  // The first response is none.
  const expected = [HEARTBEATS + 1, HEARTBEATS + 1];
  expect(await Promise.all(streams.map(countResponses))).toEqual(expected);
});

async function startHaproxy(ports: readonly number[]) {
  const socket = join(await createDirectory(), 'haproxy.sock');
  const port = await findFreePort();
  const haproxy = spawn('haproxy', ['-db', '-q', '-f', join(REPOSITORY, 'test/examples/haproxy/haproxy.cfg')], {
    env: {
      ...process.env,
      ...Object.fromEntries(ports.map((each, at) => [`USHER_${at + 1}`, `127.0.0.1:${each}`])),
      HAPROXY_ADDRESS: `127.0.0.1:${port}`,
      HAPROXY_SOCKET: socket,
    },
    stdio: 'ignore',
  });
  return {
    url: `http://127.0.0.1:${port}`,
    /** Resolves when the health checks of both backends say so of all servers. */
    async waitFor(state: 'UP' | 'DOWN') {
      const count = async () => {
        const connection = connect(socket).on('error', () => {});
        connection.end('show stat\n');
        const rows = (await text(connection).catch(() => '')).split('\n');
        return rows.filter((row) => new RegExp(`,usher-\\d,.*,${state},`).test(row)).length;
      };
      await expect.poll(count, { interval: 100 }).toBe(2 * ports.length);
    },
    async [Symbol.asyncDispose]() {
      haproxy.kill();
      if (haproxy.exitCode === null) await once(haproxy, 'exit');
    },
  };
}

test('its configuration is valid in cleartext with three servers', () => {
  const servers = Object.fromEntries([1, 2, 3].map((each) => [`USHER_${each}`, `127.0.0.1:${each}`]));
  const env = { ...process.env, ...servers, HAPROXY_ADDRESS: '127.0.0.1:1', HAPROXY_SOCKET: '/tmp/haproxy.sock' };
  execFileSync('haproxy', ['-c', '-f', join(REPOSITORY, 'test/examples/haproxy/haproxy.cfg')], {
    env,
    stdio: 'ignore',
  });
});
