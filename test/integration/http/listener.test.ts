/** One port for HTTP/1.1 and HTTP/2, in cleartext or over TLS. */
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RequestScheduler } from '../../../src/http/request-scheduler.ts';
import { createCertificate } from '../../support/certificate.ts';
import { request } from '../../support/http.ts';
import { encodeHeaders, encodePreface } from '../../support/http2-frames.ts';
import { openHttp2Session } from '../../support/http2-session.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { createTestUser, logIn, REDIRECT_URI, startTestService, type TestService } from '../../support/service.ts';
import { openWebhookFixture } from '../../support/webhook-fixture.ts';
import { serveListener } from './serve-listener.ts';

const fixture = await openWebhookFixture();
const { service } = fixture;

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
    using connection = await RawConnection.open(service.port);
    let received = '';
    connection.socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    await connection.sendSlowly(
      Buffer.concat([encodePreface(), encodeHeaders(1, { ':method': 'GET', ...fixture.http2 })]),
    );
    await expect.poll(() => received).toContain(fixture.webhookId);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  test.each(['PRI * HTTP/1.1\r\nHost: a\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nXY\r\n\r\n'])(
    'returns 400 for %j, which only begins like HTTP/2',
    async (bytes) => {
      using connection = await RawConnection.open(service.port);
      await connection.sendSlowly(bytes);
      const reply = await connection.reply();
      expect(reply.status).toBe(400);
      expect(JSON.parse(reply.body)).toEqual({ status: false, message: 'Bad request', reason: 'BAD_REQUEST' });
      await connection.ended();
    },
  );

  test('answers 100 pipelined requests in their order', async () => {
    using connection = await RawConnection.open(service.port);
    const ids = Array.from({ length: 100 }, (_, at) => `request-${at}`);
    connection.send(ids.map((id) => fixture.raw(id)).join(''));
    for (const id of ids) expect((await connection.reply()).headers['x-request-id']).toBe(id);
  });

  test.each([
    ['cannot be parsed', 'GET /\xff HTTP/1.1\r\n\r\n', 400],
    ['has an unknown version', `GET ${fixture.rest.path} HTTP/9.9\r\n\r\n`, 400],
    ['asks for a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n', 405],
  ])('answers two requests, and then one that follows them and %s', async (_, last, status) => {
    using connection = await RawConnection.open(service.port);
    connection.send(`${fixture.raw()}${fixture.raw()}${last}`);
    fixture.expectWebhook(await connection.reply());
    fixture.expectWebhook(await connection.reply());
    expect((await connection.reply()).status).toBe(status);
    await connection.ended();
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
      expect(JSON.parse(reply.body)).toEqual({
        status: false,
        message: 'Request header fields too large',
        reason: 'HEADERS_TOO_LARGE',
      });
      fixture.expectWebhook(await client.exchange(fixture.http2));
    }
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

test('behind a trusted proxy, a session records the last forwarded address, over REST and RPC', async () => {
  const config = { trustedProxies: ['127.0.0.1'] };
  await using proxied = await startTestService({ database: service.database, like: service.config, config });
  const recordedAddress = async (exchange: (body: string) => Promise<{ status: number }>) => {
    const user = await createTestUser(service);
    const authToken = await logIn(service, fixture.tenant, user);
    expect(await exchange(JSON.stringify({ authToken }))).toMatchObject({ status: 200 });
    return service.database.sql`select ip_address from sessions where user_id = ${user.id}`;
  };
  const overRest = await recordedAddress(async (body) => {
    using connection = await RawConnection.open(proxied.port);
    connection.send(
      `POST /api/oauth/exchange HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${fixture.tenant.apiKey}\r\n` +
        `X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-For: 203.0.113.9\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    return await connection.reply();
  });
  const overRpc = await recordedAddress((body) => {
    const headers = { ...fixture.key, 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' };
    const path = '/usher.v1.AuthService/ExchangeToken';
    return request(proxied.url, { httpVersion: '2', method: 'POST', path, headers, body });
  });
  expect([overRest, overRpc]).toEqual(Array(2).fill([{ ip_address: '203.0.113.9' }]));
});

test('a handler that throws is reported with the request ID and answered with 500', async () => {
  const reported: unknown[] = [];
  const failure = new Error('a bug');
  const onError = (error: unknown, requestId?: string) => reported.push([error, requestId]);
  await using listener = await serveListener(() => Promise.reject(failure), { onError });
  for (const httpVersion of ['1.1', '2'] as const) {
    const { status, body, headers } = await request(listener.url, { httpVersion, path: '/' });
    expect({ status, body }).toEqual({ status: 500, body: '{"reason":"INTERNAL_ERROR"}' });
    expect(reported.at(-1)).toEqual([failure, headers['x-request-id']]);
  }
});

test.each(['1.1', '2'] as const)(
  'keeps no request that waits of a connection over HTTP/%s that has closed',
  async (httpVersion) => {
    using run = vi.spyOn(RequestScheduler.prototype, 'run');
    using forget = vi.spyOn(RequestScheduler.prototype, 'forget');
    await using listener = await serveListener(() => Promise.reject(new Error('no answer')));
    await request(listener.url, { httpVersion, path: '/' });
    const connection = run.mock.lastCall?.[1] ?? expect.unreachable();
    await expect.poll(() => forget.mock.calls).toContainEqual([expect.toSatisfy((each) => each === connection)]);
  },
);
