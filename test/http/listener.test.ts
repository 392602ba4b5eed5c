/** One port for HTTP/1.1 and HTTP/2, in cleartext or over TLS. */
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { connect as connectSocket, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseTrustedProxies } from '../../src/http/client-address.ts';
import { openListener } from '../../src/http/listener.ts';
import { createCertificate } from '../support/certificate.ts';
import { request } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { createTestUser, logIn, REDIRECT_URI, startTestService, type TestService } from '../support/service.ts';
import { WebhookFixture } from '../support/webhook-fixture.ts';

const UUID = /^[0-9a-f-]{36}$/;

let fixture: WebhookFixture;
let service: TestService;

beforeAll(async () => {
  fixture = await WebhookFixture.open();
  ({ service } = fixture);
});

afterAll(() => fixture.close());

describe('in cleartext', () => {
  test.each(['1.1', '2'] as const)('answers HTTP/%s', async (httpVersion) => {
    fixture.expectWebhook(await request(service.url, { httpVersion, ...fixture.rest }));
  });

  // These share their first letters with the preface of HTTP/2.
  test.each([
    ['POST', 200],
    ['PUT', 405],
    ['PROPFIND', 405],
  ])('answers a %s whose bytes arrive one at a time with %d', async (method, status) => {
    const body = JSON.stringify({ redirectUri: REDIRECT_URI, state: 's' });
    using connection = await RawConnection.open(service.port);
    await connection.sendSlowly(
      `${method} /api/oauth/generate-auth-url?clientId=${fixture.tenant.clientId} HTTP/1.1\r\nHost: localhost\r\n` +
        `X-API-Key: ${fixture.tenant.apiKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(await connection.reply()).toMatchObject({ status });
    connection.send(fixture.raw());
    fixture.expectWebhook(await connection.reply());
  });

  test('answers HTTP/2 whose bytes arrive one at a time, without a warning from Node', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => void warnings.push(message);
    process.on('warning', onWarning);
    try {
      using client = openHttp2Session(service.url, writingSlowly(connectSocket(service.port, '127.0.0.1')));
      fixture.expectWebhook(await client.exchange(fixture.http2));
      await new Promise(setImmediate);
    } finally {
      process.off('warning', onWarning);
    }
    expect(warnings).toEqual([]);
  });

  test.each(['PRI * HTTP/1.1\r\nHost: a\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nXY\r\n\r\n'])(
    'returns 400 for %j, which only begins like HTTP/2',
    async (bytes) => {
      using connection = await RawConnection.open(service.port);
      await connection.sendSlowly(bytes);
      const reply = await connection.reply();
      expect(reply.status).toBe(400);
      expect(JSON.parse(reply.body)).toEqual({ status: false, message: 'Bad request' });
      await connection.ended();
    },
  );

  test('answers 100 pipelined requests in their order', async () => {
    using connection = await RawConnection.open(service.port);
    const ids = Array.from({ length: 100 }, (_, at) => `request-${at}`);
    connection.send(ids.map((id) => fixture.raw(id)).join(''));
    for (const id of ids) expect((await connection.reply()).headers['x-request-id']).toBe(id);
  });

  test('answers 200 concurrent requests on one HTTP/2 connection, of which 100 may be open at a time', async () => {
    using client = openHttp2Session(service.url);
    const replies = await Promise.all(Array.from({ length: 200 }, () => client.exchange(fixture.http2)));
    for (const reply of replies) fixture.expectWebhook(reply);
    expect(new Set(replies.map(({ headers }) => headers['x-request-id'])).size).toBe(200);
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(100);
  });

  test('returns 431 for more than 16 KiB of headers over HTTP/2 and keeps the connection', async () => {
    using client = openHttp2Session(service.url);
    for (const bytes of [17_000, 40_000]) {
      const reply = await client.exchange({ ':path': '/api/webhooks/x', 'x-large': 'x'.repeat(bytes) });
      expect(reply.status, `${bytes} bytes`).toBe(431);
      expect(JSON.parse(reply.body)).toEqual({ status: false, message: 'Request header fields too large' });
      fixture.expectWebhook(await client.exchange(fixture.http2));
    }
  });

  test('returns 405 for CONNECT with the request ID of the caller', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nX-Request-Id: caller\r\n\r\n');
    const { status, headers, body } = await connection.reply();
    expect({ status, id: headers['x-request-id'] }).toEqual({ status: 405, id: 'caller' });
    expect(JSON.parse(body)).toEqual({ status: false, message: 'Method not allowed' });
  });
});

describe('over TLS', () => {
  let ca: string;
  let secured: TestService;

  beforeAll(async () => {
    const tls = await createCertificate();
    ca = tls.cert;
    secured = await startTestService({ database: service.database, like: service.config, config: { tls } });
  });

  afterAll(() => secured.close());

  test.each([
    { offered: ['h2', 'http/1.1'], chosen: 'h2' },
    { offered: ['http/1.1'], chosen: 'http/1.1' },
    { offered: undefined, chosen: false },
  ])('chooses $chosen for a client that offers $offered', async ({ offered, chosen }) => {
    const socket = await openTls(offered);
    expect(socket.alpnProtocol).toBe(chosen);
    if (chosen === 'h2') {
      using client = openHttp2Session(secured.url, socket);
      fixture.expectWebhook(await client.exchange(fixture.http2));
    } else {
      using connection = new RawConnection(socket);
      connection.send(fixture.raw());
      fixture.expectWebhook(await connection.reply());
    }
  });

  test('answers an HTTPS client', async () => {
    const { path, headers } = fixture.rest;
    const sent = httpsRequest(new URL(path, secured.url), { ca, headers, agent: false });
    sent.end();
    const [reply] = await once(sent, 'response');
    fixture.expectWebhook({ status: reply.statusCode, body: await text(reply) });
  });

  test('refuses a client that offers another protocol and answers the next one', async () => {
    await expect(openTls(['spdy/3'])).rejects.toThrow();
    using client = openHttp2Session(secured.url, await openTls(['h2']));
    fixture.expectWebhook(await client.exchange(fixture.http2));
  });

  async function openTls(ALPNProtocols: string[] | undefined) {
    const { port } = secured;
    const socket = connectTls({ host: '127.0.0.1', port, ca, ...(ALPNProtocols && { ALPNProtocols }) });
    await once(socket, 'secureConnect');
    return socket;
  }
});

describe('behind a trusted proxy, a session records the forwarded address', () => {
  let proxied: TestService;

  beforeAll(async () => {
    const config = { trustedProxies: parseTrustedProxies(['127.0.0.1']) };
    proxied = await startTestService({ database: service.database, like: service.config, config });
  });

  afterAll(() => proxied.close());

  test('from the last of several X-Forwarded-For headers over REST', async () => {
    expect(
      await recordedAddress(async (body) => {
        using connection = await RawConnection.open(proxied.port);
        connection.send(
          `POST /api/oauth/exchange HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${fixture.tenant.apiKey}\r\n` +
            `X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-For: 203.0.113.9\r\n` +
            `Content-Length: ${body.length}\r\n\r\n${body}`,
        );
        return await connection.reply();
      }),
    ).toBe('203.0.113.9');
  });

  test('of an RPC over HTTP/2', async () => {
    const headers = { ...fixture.key, 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' };
    const path = '/usher.v1.AuthService/ExchangeToken';
    expect(
      await recordedAddress((body) => request(proxied.url, { httpVersion: '2', method: 'POST', path, headers, body })),
    ).toBe('203.0.113.9');
  });

  async function recordedAddress(exchange: (body: string) => Promise<{ status: number }>): Promise<unknown> {
    const user = await createTestUser(service);
    const authToken = await logIn(service, fixture.tenant, user);
    expect(await exchange(JSON.stringify({ authToken }))).toMatchObject({ status: 200 });
    const [row] = await service.database.sql`select ip_address from sessions where user_id = ${user.id}`;
    return row?.ip_address;
  }
});

describe('x-request-id', () => {
  const PATHS = ['/api/nothing', '/healthz', '/nothing', '/usher.v1.WebhookService/GetWebhook'];

  test.each(PATHS)('is new for each reply of %s over both HTTP versions', async (path) => {
    const versions = ['1.1', '1.1', '2', '2'] as const;
    const ids = await Promise.all(versions.map((httpVersion) => requestIdOf({ path, httpVersion })));
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(4);
  });

  test.each(PATHS)('is that of the caller on the reply of %s', async (path) => {
    const given = '4f9c.A:b+c/d=e_f-1';
    expect(await requestIdOf({ path, headers: { 'x-request-id': given } })).toBe(given);
  });

  test.each(['', 'a b', '"quoted"', 'a,b', 'caf\u00e9', 'a'.repeat(129)])('is a new one for %j', async (given) => {
    expect(await requestIdOf({ path: '/api/nothing', headers: { 'x-request-id': given } })).toMatch(UUID);
  });

  test('is a new one if the caller sends two', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\r\nX-Request-Id: b\r\n\r\n');
    expect((await connection.reply()).headers['x-request-id']).toMatch(UUID);
  });

  async function requestIdOf(options: Parameters<typeof request>[1]): Promise<string | undefined> {
    return (await request(service.url, options)).headers['x-request-id'];
  }
});

test('a handler that throws is reported with the request ID and answered with 500', async () => {
  const trustedProxies = parseTrustedProxies([]);
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined, trustedProxies });
  const reported: unknown[] = [];
  const failure = new Error('a bug');
  listener.serve(
    () => Promise.reject(failure),
    () => false,
    (error, requestId) => reported.push([error, requestId]),
  );
  try {
    const url = `http://127.0.0.1:${listener.port}`;
    for (const httpVersion of ['1.1', '2'] as const) {
      const { status, body, headers } = await request(url, { httpVersion, path: '/' });
      expect({ status, body }).toEqual({ status: 500, body: '{"status":false,"message":"Internal error"}' });
      expect(reported.at(-1)).toEqual([failure, headers['x-request-id']]);
    }
  } finally {
    await listener.close(1_000);
  }
});

/** Returns a connection that writes each byte in a segment of its own. */
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
