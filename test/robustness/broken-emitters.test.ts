/**
 * Errors of every socket, stream, request, session and server of a process, at any time: none ends it. Node throws an
 * `error` that nobody listens to, and takes its own listeners away when it hands a socket over.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { pathOf } from '../../src/api/procedures.ts';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { cloneDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { findFreePort } from '../support/free-port.ts';
import { request } from '../support/http.ts';
import { encodeHeaders, encodePreface } from '../support/http2-frames.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { startSocketServer } from '../support/mail-server.ts';
import { startUsher } from '../support/process.ts';
import { clientsOf, createTenant, createTestUser } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const LOAD_MS = quickOrLong(4_500, 60_000);
const ROUNDS = 3;
const LONG = { timeout: 300_000 };
const CLIENTS = 3;
/** What must have been broken: a busy machine needs more rounds until a webhook is on its way in one. */
const KINDS = ['Socket', 'Server', 'IncomingMessage', 'ServerHttp2Session', 'ServerHttp2Stream', 'ClientRequest'];
const MOST_ROUNDS = 10 * ROUNDS;
const CHECK = pathOf(Health.method.check);

test.for(['directly', 'through a proxy'])(
  'a process that sends webhooks %s outlives them',
  LONG,
  async (how, context) => {
    await using database = await cloneDatabase();
    await using receiver = await WebhookReceiver.open();
    // Of three endpoints, one answers nothing, and one begins to answer.
    receiver.respond = ({ path }, response) => {
      if (path.endsWith('0')) return;
      if (path.endsWith('1')) response.writeHead(200).write('a');
      else response.writeHead(200).end('ok');
    };
    // Opens every tunnel to an endpoint that speaks no TLS, or refuses it at length.
    let tunnels = 0;
    await using proxy = await startSocketServer((socket) => {
      socket.once('data', () =>
        socket.write(tunnels++ % 2 === 0 ? 'HTTP/1.1 200 OK\r\n\r\n' : `HTTP/1.1 403 No\r\n\r\n${'a'.repeat(20_000)}`),
      );
    });
    const operators = join(await createDirectory(), 'operators');
    await writeFile(operators, 'ada@example.com admin\n');
    const [consolePort, metricsPort] = [await findFreePort(), await findFreePort()];
    await using usher = await startUsher(database.url, {
      NODE_OPTIONS: `--import=${new URL('../support/break-emitters.ts', import.meta.url).href}`,
      CONSOLE_PORT: String(consolePort),
      METRICS_PORT: String(metricsPort),
      OPERATORS_FILE: operators,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      ...(how === 'through a proxy' && { WEBHOOK_PROXY_URL: `http://127.0.0.1:${proxy.port}` }),
    });
    const tenant = await createTenant(usher);
    const { id: ownerId } = await createTestUser(usher, { applicationIds: [tenant.id] });
    const { webhooks } = clientsOf(usher, tenant);
    const eventTypes = ['event.created'];
    for (const url of ['/0', '/1', '/2'].map((path) => receiver.url + path))
      await webhooks.createWebhook({ url, ownerId, eventTypes });
    await webhooks.createWebhook({ url: 'https://localhost:4443/a', ownerId, eventTypes });

    const headers = { 'x-api-key': tenant.apiKey, 'content-type': 'application/json' };
    const create = () => JSON.stringify({ eventId: randomUUID() });
    const uses: readonly (() => Promise<unknown>)[] = [
      ...(['1.1', '2'] as const).flatMap((httpVersion) => [
        () => request(usher.url, { httpVersion, method: 'POST', path: '/api/events', headers, body: create() }),
        () => request(usher.url, { httpVersion, path: '/login' }),
      ]),
      () => request(`http://127.0.0.1:${consolePort}`, { path: '/login' }),
      () => request(`http://127.0.0.1:${metricsPort}`, { path: '/metrics' }),
      async () => {
        using session = openHttp2Session(usher.url);
        const rpc = { ':method': 'POST', ':path': CHECK };
        const types = ['application/grpc', 'application/grpc-web+proto', 'application/json'];
        for (const type of types) session.open({ ...rpc, 'content-type': type });
        await session.exchange({ ...rpc, 'content-type': 'application/json' }, '{}');
      },
      // Connections that are left open at each stage.
      () => sendAndWait(usher.port, ''),
      () => sendAndWait(usher.port, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'),
      () => sendAndWait(usher.port, 'POST /api/events HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n'),
      () => sendAndWait(usher.port, encodePreface()),
      () =>
        sendAndWait(
          usher.port,
          Buffer.concat([
            encodePreface(),
            encodeHeaders(1, { ':method': 'POST', ':path': CHECK }, { endStream: false }),
          ]),
        ),
    ];
    const isOver = { value: false };
    const clients = uses.flatMap((use) =>
      Array.from({ length: CLIENTS }, async () => {
        for (; !isOver.value && usher.isRunning; await sleep(10))
          await Promise.race([use().catch(() => {}), sleep(500)]);
      }),
    );
    const readBroken = () =>
      usher.stderr
        .split('\n')
        .slice(0, -1)
        .findLast((line) => line.startsWith('{')) ?? '{}';
    const isMissing = (kind: string) => !(kind in JSON.parse(readBroken()));
    for (
      let round = 0;
      (round < ROUNDS || (round < MOST_ROUNDS && KINDS.some(isMissing))) && usher.isRunning;
      round++
    ) {
      await sleep(LOAD_MS / ROUNDS);
      usher.kill('SIGUSR2');
    }
    await sleep(LOAD_MS / ROUNDS);
    isOver.value = true;
    await Promise.all(clients);
    const broken = readBroken();
    report(context, {
      tried: `ends streams, requests, sessions and servers while webhooks are sent ${how}`,
      figures: broken,
    });
    const crash = usher.stderr.replace(/^(?:\{.*)?\n/gm, '');
    expect({ ended: usher.ended, crash }).toEqual({ ended: undefined, crash: '' });
    expect(KINDS.filter(isMissing)).toEqual([]);
    await expect
      .poll(async () => (await request(usher.url, { path: '/healthz' }).catch(() => undefined))?.status)
      .toBe(200);
  },
);

/** Sends the bytes over a connection of their own, and closes it after a while. */
async function sendAndWait(port: number, bytes: string | Buffer): Promise<void> {
  const socket = connect(port, '127.0.0.1')
    .on('error', () => {})
    .resume();
  socket.write(bytes);
  await sleep(100);
  socket.destroy();
}
