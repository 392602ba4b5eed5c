/** One port for every client: how it speaks, where it comes from, and how it leaves. */
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { connect as connectSocket, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseTrustedProxies } from '../../src/config/trusted-proxies.ts';
import { createLogger } from '../../src/log.ts';
import { createCertificate } from '../support/certificate.ts';
import { type HttpReply, request } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { lockEvent } from '../support/lock.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { frame } from '../support/rpc-wire.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

let service: TestService;
let tenant: Tenant;
let webhookId: string;

beforeAll(async () => {
  service = await startTestService({ config: { shutdownTimeoutMs: 500 } });
  tenant = await createTenant(service);
  const owner = await createTestUser(service);
  const { webhook } = await clientsOf(service, tenant).webhooks.createWebhook({
    url: 'https://example.com/hooks',
    ownerId: owner.id,
  });
  webhookId = webhook?.webhookId ?? '';
});

afterAll(() => service.close());

describe('in cleartext', () => {
  test.each(['1.1', '2'] as const)('HTTP/%s is spoken on the one port', async (httpVersion) => {
    expectWebhook(await request(service.url, { httpVersion, ...webhookRequest() }));
  });

  test.each([
    ['POST', 200],
    ['PUT', 405],
    ['PROPFIND', 405],
  ])('%s is understood when its bytes arrive one at a time', async (method, status) => {
    const body = JSON.stringify({ redirectUri: REDIRECT_URI, state: 's' });
    using connection = await RawConnection.open(service.port);
    await connection.sendSlowly(
      `${method} /api/oauth/generate-auth-url?clientId=${tenant.clientId} HTTP/1.1\r\nHost: localhost\r\n` +
        `X-API-Key: ${tenant.apiKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );

    expect(await connection.reply()).toMatchObject({ status });
    connection.send(rawWebhookRequest());
    expectWebhook(await connection.reply());
  });

  test('HTTP/2 is understood when its preface arrives one byte at a time, and Node has nothing to warn of', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => void warnings.push(message);
    process.on('warning', onWarning);
    try {
      using client = openHttp2Session(service.url, writingSlowly(connectSocket(service.port, '127.0.0.1')));
      expectWebhook(await client.exchange(webhookHeaders()));
      await new Promise(setImmediate);
    } finally {
      process.off('warning', onWarning);
    }
    expect(warnings).toEqual([]);
  });

  test.each(['PRI * HTTP/1.1\r\nHost: a\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nXY\r\n\r\n'])(
    '400 for %j, which begins as HTTP/2 does',
    async (bytes) => {
      using connection = await RawConnection.open(service.port);
      await connection.sendSlowly(bytes);

      const reply = await connection.reply();
      expect(reply.status).toBe(400);
      expect(JSON.parse(reply.body)).toEqual({ status: false, message: 'Bad request' });
      await connection.ended();
    },
  );

  test('an HTTP/2 connection that goes wrong after its preface is closed, and no other', async () => {
    using other = openHttp2Session(service.url);
    expectWebhook(await other.exchange(webhookHeaders()));

    using connection = await RawConnection.open(service.port);
    const closed = once(connection.socket, 'end');
    connection.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET / HTTP/1.1\r\n\r\n');
    await closed;

    expectWebhook(await other.exchange(webhookHeaders()));
  });

  test('many requests at once on one HTTP/1.1 connection are all answered, in their order', async () => {
    using connection = await RawConnection.open(service.port);
    const ids = Array.from({ length: 100 }, (_, at) => `request-${at}`);
    connection.send(ids.map((id) => rawWebhookRequest(id)).join(''));

    for (const id of ids) expect((await connection.reply()).headers['x-request-id']).toBe(id);
  });

  test('who asks for more than anyone waits for on one HTTP/1.1 connection is disconnected, and nobody else', async () => {
    using other = await RawConnection.open(service.port);
    using connection = await RawConnection.open(service.port);
    const closed = once(connection.socket, 'end');
    connection.send(rawWebhookRequest().repeat(300));
    await closed;

    other.send(rawWebhookRequest());
    expectWebhook(await other.reply());
  });

  test('many requests at once on one HTTP/2 connection are all answered', async () => {
    using client = openHttp2Session(service.url);
    const replies = await Promise.all(Array.from({ length: 200 }, () => client.exchange(webhookHeaders())));

    for (const reply of replies) expectWebhook(reply);
    expect(new Set(replies.map(({ headers }) => headers['x-request-id'])).size).toBe(200);
  });
});

describe('over TLS', () => {
  let ca: string;
  let secured: TestService;

  beforeAll(async () => {
    const certificate = await createCertificate();
    ca = certificate.cert;
    secured = await startTestService({
      database: service.database,
      like: service.config,
      config: { tls: certificate },
    });
  });

  afterAll(() => secured.close());

  test('the URL is https', () => {
    expect(secured.url).toBe(`https://127.0.0.1:${secured.port}`);
  });

  test.each([
    { offered: ['h2', 'http/1.1'], chosen: 'h2' },
    { offered: ['h2'], chosen: 'h2' },
    { offered: ['http/1.1'], chosen: 'http/1.1' },
    { offered: undefined, chosen: false },
  ])('a client that offers $offered gets $chosen', async ({ offered, chosen }) => {
    const socket = await openTls(offered);
    expect(socket.alpnProtocol).toBe(chosen);

    if (chosen === 'h2') {
      using client = openHttp2Session(secured.url, socket);
      expectWebhook(await client.exchange(webhookHeaders()));
    } else {
      using connection = new RawConnection(socket);
      connection.send(rawWebhookRequest());
      expectWebhook(await connection.reply());
    }
  });

  test('an https client is answered', async () => {
    const { path, headers } = webhookRequest();
    const sent = httpsRequest(new URL(path, secured.url), { ca, headers, agent: false });
    sent.end();
    const [reply] = await once(sent, 'response');

    expectWebhook({ status: reply.statusCode, body: await text(reply) });
  });

  test.each([
    ['a request in cleartext', rawWebhookRequest],
    ['HTTP/2 in cleartext', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['half a handshake', () => Buffer.from('160301', 'hex')],
    ['nothing', () => ''],
  ])('a client that sends %s and leaves harms nobody', async (_, bytes) => {
    using connection = await RawConnection.open(secured.port);
    const closed = once(connection.socket, 'end');
    connection.socket.on('data', () => {});
    connection.send(bytes());
    connection.socket.end();
    await closed;

    await expectHealthyOverTls();
  });

  test('a client that offers a protocol we do not speak is refused, and harms nobody', async () => {
    await expect(openTls(['spdy/3'])).rejects.toThrow();

    await expectHealthyOverTls();
  });

  test('the connection of an HTTP/2 client that has left is let go', async () => {
    const socket = await openTls(['h2']);
    await expectLetGo(socket, secured.url);
  });

  async function openTls(ALPNProtocols: string[] | undefined) {
    const socket = connectTls({
      host: '127.0.0.1',
      port: secured.port,
      ca,
      ...(ALPNProtocols && { ALPNProtocols }),
    });
    await once(socket, 'secureConnect');
    return socket;
  }

  async function expectHealthyOverTls(): Promise<void> {
    using client = openHttp2Session(secured.url, await openTls(['h2']));
    expectWebhook(await client.exchange(webhookHeaders()));
  }
});

describe('the address of the caller in the recorded session', () => {
  test.each([
    { trusted: [], forwarded: '203.0.113.9', recorded: '127.0.0.1' },
    { trusted: ['10.0.0.0/8'], forwarded: '203.0.113.9', recorded: '127.0.0.1' },
    { trusted: ['127.0.0.1'], forwarded: undefined, recorded: '127.0.0.1' },
    { trusted: ['127.0.0.1'], forwarded: '', recorded: '127.0.0.1' },
    { trusted: ['127.0.0.1'], forwarded: '203.0.113.9', recorded: '203.0.113.9' },
    { trusted: ['127.0.0.1'], forwarded: '203.0.113.9:4711', recorded: '203.0.113.9' },
    { trusted: ['127.0.0.1'], forwarded: '[2001:db8::9]:4711', recorded: '2001:db8::9' },
    { trusted: ['127.0.0.1'], forwarded: '[2001:db8::9]', recorded: '2001:db8::9' },
    { trusted: ['127.0.0.0/8'], forwarded: '198.51.100.7, 203.0.113.9', recorded: '203.0.113.9' },
    { trusted: ['127.0.0.1', '203.0.113.0/24'], forwarded: '198.51.100.7,203.0.113.9', recorded: '198.51.100.7' },
    {
      trusted: ['127.0.0.1', '203.0.113.0/24'],
      forwarded: '1.1.1.1, 198.51.100.7, 203.0.113.9',
      recorded: '198.51.100.7',
    },
    { trusted: ['127.0.0.0/8'], forwarded: '127.0.0.3, 127.0.0.2', recorded: '127.0.0.3' },
    { trusted: ['127.0.0.1'], forwarded: 'unknown', recorded: '127.0.0.1' },
    { trusted: ['127.0.0.1'], forwarded: '198.51.100.7, unknown', recorded: '127.0.0.1' },
    { trusted: ['127.0.0.1'], forwarded: '203.0.113.256', recorded: '127.0.0.1' },
    { trusted: ['127.0.0.1'], forwarded: '2001:db8::1', recorded: '2001:db8::1' },
    { trusted: ['127.0.0.1', '2001:db8::/32'], forwarded: '198.51.100.7, 2001:db8::1', recorded: '198.51.100.7' },
    { trusted: ['127.0.0.1'], forwarded: '::ffff:203.0.113.9', recorded: '203.0.113.9' },
  ])(
    'is $recorded when $trusted is trusted and X-Forwarded-For is $forwarded',
    async ({ trusted, forwarded, recorded }) => {
      await using proxied = await startBehind(trusted);
      const headers: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };

      expect(
        await recordedAddress(proxied, (path, body) =>
          request(proxied.url, { ...post(path, body), headers: { ...post(path, body).headers, ...headers } }),
        ),
      ).toBe(recorded);
    },
  );

  test('is the last of several X-Forwarded-For headers', async () => {
    await using proxied = await startBehind(['127.0.0.1']);
    const address = await recordedAddress(proxied, async (path, body) => {
      using connection = await RawConnection.open(proxied.port);
      connection.send(
        `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${tenant.apiKey}\r\nX-Forwarded-For: 198.51.100.7\r\n` +
          `X-Forwarded-For: 203.0.113.9\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      return await connection.reply();
    });

    expect(address).toBe('203.0.113.9');
  });

  test('is found over HTTP/2 and in an RPC as well', async () => {
    await using proxied = await startBehind(['127.0.0.1']);
    const address = await recordedAddress(proxied, (_, body) => {
      const { headers, ...rest } = post('/usher.v1.AuthService/ExchangeToken', body);
      return request(proxied.url, {
        ...rest,
        httpVersion: '2',
        headers: { ...headers, 'x-forwarded-for': '203.0.113.9' },
      });
    });

    expect(address).toBe('203.0.113.9');
  });

  function startBehind(trusted: string[]): Promise<TestService> {
    return startTestService({
      database: service.database,
      like: service.config,
      config: { trustedProxies: parseTrustedProxies(trusted) },
    });
  }

  function post(path: string, body: string) {
    return {
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', 'x-api-key': tenant.apiKey },
      body,
    };
  }

  /** Exchanges the token of a new user and looks up what the session has recorded. */
  async function recordedAddress(
    { database }: TestService,
    exchange: (path: string, body: string) => Promise<Pick<HttpReply, 'status' | 'body'>>,
  ): Promise<string | undefined> {
    const user = await createTestUser(service);
    const authToken = await logIn(service, tenant, user);
    const reply = await exchange('/api/oauth/exchange', JSON.stringify({ authToken }));
    expect(reply.status).toBe(200);
    const [row] = await database.sql<{ address: string }[]>`
      select ip_address as address from sessions where user_id = ${user.id}`;
    return row?.address;
  }
});

describe('x-request-id', () => {
  const PATHS = [
    '/api/nothing',
    '/healthz',
    '/readyz',
    '/.well-known/jwks.json',
    '/nothing',
    '/usher.v1.WebhookService/GetWebhook',
  ];

  test.each(PATHS.flatMap((path) => (['1.1', '2'] as const).map((httpVersion) => ({ path, httpVersion }))))(
    'is on the reply of $path over HTTP/$httpVersion, and every time another',
    async ({ path, httpVersion }) => {
      const ids = await Promise.all([1, 2].map(() => requestIdOf({ path, httpVersion })));

      expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
      expect(ids[1]).toMatch(/^[0-9a-f-]{36}$/);
      expect(ids[0]).not.toBe(ids[1]);
    },
  );

  test.each(PATHS)('is the one of the caller on the reply of %s', async (path) => {
    const given = '4f9c.A:b+c/d=e_f-1';
    expect(await requestIdOf({ path, headers: { 'x-request-id': given } })).toBe(given);
  });

  test.each(['', 'a b', '"quoted"', 'a,b', '<script>', 'caf\u00e9', 'a'.repeat(129)])(
    'is a new one where that of the caller is %j',
    async (given) => {
      expect(await requestIdOf({ path: '/api/nothing', headers: { 'x-request-id': given } })).toMatch(
        /^[0-9a-f-]{36}$/,
      );
    },
  );

  test('is a new one where the caller sends two', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\r\nX-Request-Id: b\r\n\r\n');

    expect((await connection.reply()).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('is in the log lines of the call', async () => {
    const lines: { requestId?: string; method?: string; status?: number }[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
    await using logging = await startTestService({ database: service.database, like: service.config, logger });
    const { path, headers } = webhookRequest();
    await request(logging.url, { path, headers: { ...headers, 'x-request-id': 'rest-call' } });
    await request(logging.url, {
      httpVersion: '2',
      method: 'POST',
      path: '/usher.v1.WebhookService/GetWebhook',
      headers: { 'content-type': 'application/json', 'x-request-id': 'rpc-call' },
      body: '{}',
    });
    await logging.close();

    const method = 'usher.v1.WebhookService/GetWebhook';
    expect(lines.filter((line) => line.requestId === 'rest-call')).toMatchObject([{ method, status: 200 }]);
    expect(lines.filter((line) => line.requestId === 'rpc-call')).toMatchObject([{ method, status: 401 }]);
  });

  async function requestIdOf(options: Parameters<typeof request>[1]): Promise<string | undefined> {
    const { headers } = await request(service.url, options);
    return headers['x-request-id'];
  }
});

describe('a client that leaves', () => {
  test.each([
    ['before it has said anything', ''],
    ['in the middle of the preface of HTTP/2', 'PRI * HT'],
    ['in the middle of the headers', 'GET /api/webhooks/x HTTP/1.1\r\nHost: loc'],
    [
      'in the middle of a body',
      'POST /api/oauth/exchange HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nContent-Length: 50\r\n\r\n{"a',
    ],
    [
      'in the middle of a chunk',
      'POST /api/oauth/exchange HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{',
    ],
    [
      'in the middle of an RPC',
      'POST /usher.v1.AuthService/ExchangeToken HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"a',
    ],
  ])('%s harms nobody, however many there are', async (_, bytes) => {
    const connections = await Promise.all(Array.from({ length: 50 }, () => RawConnection.open(service.port)));
    for (const connection of connections) {
      connection.send(bytes.replace('{key}', tenant.apiKey));
      connection.socket.resetAndDestroy();
    }

    await expectHealthy();
  });

  test.each(['1.1', '2'] as const)(
    'while its call over HTTP/%s waits for Postgres harms nobody',
    async (httpVersion) => {
      const eventId = `left-${httpVersion}`;
      await clientsOf(service, tenant).events.createEvent({ eventId });
      await using lock = await lockEvent(service.database, eventId);
      const path = `/api/events/${eventId}`;
      if (httpVersion === '2') {
        using client = openHttp2Session(service.url);
        client.open({ ':method': 'DELETE', ':path': path, 'x-api-key': tenant.apiKey }).end();
        await lock.waitedForBy(1);
      } else {
        using connection = await RawConnection.open(service.port);
        connection.send(`DELETE ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${tenant.apiKey}\r\n\r\n`);
        await lock.waitedForBy(1);
      }

      await expectHealthy();
      await lock.release();
      await expectHealthy();
    },
  );

  test('one call of an HTTP/2 connection, by RST_STREAM, keeps the connection', async () => {
    await clientsOf(service, tenant).events.createEvent({ eventId: 'reset' });
    await using lock = await lockEvent(service.database, 'reset');
    using client = openHttp2Session(service.url);
    const stream = client.open({ ':method': 'DELETE', ':path': '/api/events/reset', 'x-api-key': tenant.apiKey });
    stream.end();
    await lock.waitedForBy(1);
    stream.close(8);

    expect(await client.exchange({ ':path': '/healthz' })).toMatchObject({ status: 200 });
    await lock.release();
    expectWebhook(await client.exchange(webhookHeaders()));
  });

  test('an HTTP/1.1 connection has it closed on our side too', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(rawWebhookRequest());
    expectWebhook(await connection.reply());
    connection.socket.end();

    await connection.ended();
  });

  test('an HTTP/2 connection has it closed on our side too', async () => {
    const socket = connectSocket(service.port, '127.0.0.1');
    await expectLetGo(socket, service.url);
  });

  test('an HTTP/2 connection in the middle of a stream of replies has it closed on our side too', async () => {
    const socket = connectSocket(service.port, '127.0.0.1');
    using client = openHttp2Session(service.url, socket);
    const stream = client.open({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Watch',
      'content-type': 'application/grpc',
    });
    stream.end(frame(''));
    await once(stream, 'data');
    await expectEndInReturn(socket);
  });
});

/** The service ends its side of an HTTP/2 connection whose client has ended its own. */
async function expectLetGo(socket: Socket, url: string): Promise<void> {
  using client = openHttp2Session(url, socket);
  expectWebhook(await client.exchange(webhookHeaders()));
  await expectEndInReturn(socket);
}

async function expectEndInReturn(socket: Socket): Promise<void> {
  const ended = once(socket, 'end', { signal: AbortSignal.timeout(3_000) });
  socket.end();
  await ended.catch((cause) => {
    throw new Error('The service keeps the connection', { cause });
  });
}

async function expectHealthy(): Promise<void> {
  expectWebhook(await request(service.url, webhookRequest()));
}

function expectWebhook(reply: Pick<HttpReply, 'status' | 'body'>): void {
  expect(reply.status).toBe(200);
  expect(JSON.parse(reply.body)).toMatchObject({ status: true, data: { webhookId } });
}

function webhookRequest() {
  return { path: `/api/webhooks/${webhookId}`, headers: { 'x-api-key': tenant.apiKey } };
}

function webhookHeaders(): Record<string, string> {
  return { ':path': `/api/webhooks/${webhookId}`, 'x-api-key': tenant.apiKey };
}

function rawWebhookRequest(requestId = 'raw'): string {
  return (
    `GET /api/webhooks/${webhookId} HTTP/1.1\r\nHost: localhost\r\n` +
    `X-API-Key: ${tenant.apiKey}\r\nX-Request-Id: ${requestId}\r\n\r\n`
  );
}

/** A connection whose every byte is written by itself. */
function writingSlowly(socket: Socket): Duplex {
  const slow = new Duplex({
    read: () => {},
    async write(chunk: Buffer, _, done) {
      for (const byte of chunk) {
        socket.write(Uint8Array.of(byte));
        await new Promise(setImmediate);
      }
      done();
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.setNoDelay(true);
  socket
    .on('data', (chunk) => slow.push(chunk))
    .on('end', () => slow.push(null))
    .on('error', () => slow.destroy());
  return slow;
}
