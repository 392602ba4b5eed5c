/** Requests that no well-behaved client sends: each has its reply in the envelope, and harms nobody. */
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { request } from '../support/http.ts';
import { ended, openHttp2Session, readReply } from '../support/http2-session.ts';
import {
  BODIES,
  FRAMING,
  HEALTHY,
  HOST,
  HOSTS,
  inChunks,
  KEY,
  KEYS,
  LOGIN,
  MAX_BODY_BYTES,
  METHODS,
  PATHS,
  post,
  type Row,
  WEBHOOK,
} from '../support/malformed-requests.ts';
import { ODD_BODIES, ODD_HEADS, ODD_HOSTS, ODD_KEYS, ODD_PATHS, SMUGGLED, SOUND } from '../support/odd-requests.ts';
import { RawConnection, type RawReply } from '../support/raw-connection.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

/** How long the service waits for a body. */
const REQUEST_TIMEOUT_MS = 2_000;

let service: TestService;
let tenant: Tenant;
let webhookId: string;

beforeAll(async () => {
  service = await startTestService({ config: { requestTimeoutMs: REQUEST_TIMEOUT_MS, shutdownTimeoutMs: 500 } });
  tenant = await createTenant(service);
  const owner = await createTestUser(service);
  const { webhook } = await clientsOf(service, tenant).webhooks.createWebhook({
    url: 'https://example.com/hooks',
    ownerId: owner.id,
  });
  webhookId = webhook?.webhookId ?? '';
});

afterAll(() => service.close());

describe('over HTTP/1.1', () => {
  const refused = [
    ...[HOSTS, FRAMING, METHODS, KEYS, PATHS, BODIES],
    ...[ODD_HOSTS, SMUGGLED, ODD_HEADS, ODD_PATHS, ODD_KEYS, ODD_BODIES],
  ].flat();

  test.each(refused)('$status for $title', async ({ bytes, status, message, errors, allow, kept }) => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(bytes));
    const reply = await connection.reply();

    expectFailure(reply, status, { message, errors });
    expect(reply.headers.allow).toBe(allow);
    if (kept) {
      await expectHealthy(connection);
    } else {
      expect(reply.headers.connection).toBe('close');
      await connection.ended();
    }
    await expectHealthyAnew();
  });

  test('408 when a body stops arriving', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(`POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 100\r\n\r\n{"state":`));

    expectFailure(await connection.reply(), 408, { message: 'Request timeout' });
    await expectHealthyAnew();
  });

  test('400 when the client ends its side in the middle of a body', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(`POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 100\r\n\r\n{"state":`));
    connection.socket.end();

    expectFailure(await connection.reply(), 400, { message: 'Bad request' });
    await connection.ended();
    await expectHealthyAnew();
  });

  test('400 when the client ends its side in the middle of the headers', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(`GET ${WEBHOOK} HTTP/1.1\r\n${HOST}X-API-`));
    connection.socket.end();

    expectFailure(await connection.reply(), 400, { message: 'Bad request' });
    await connection.ended();
    await expectHealthyAnew();
  });

  test.each([
    ['declared', 'Content-Length: 67108864\r\n', (bytes: string) => bytes],
    ['chunked', 'Transfer-Encoding: chunked\r\n', (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`],
  ])(
    'a client that keeps sending an oversize %s body receives the 413, and then the connection closes',
    async (_, header, frame) => {
      using connection = await RawConnection.open(service.port);
      connection.send(fill(`POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}${header}\r\n`));
      const sending = new AbortController();
      const sent = keepSending(connection, frame('a'.repeat(8_192)), sending.signal);
      try {
        const reply = await connection.reply();

        expectFailure(reply, 413, { message: 'Payload too large' });
        expect(reply.headers.connection).toBe('close');
        await connection.ended();
      } finally {
        sending.abort();
        await sent;
      }
      await expectHealthyAnew();
    },
  );

  test('a client that sends an oversize body to the end before it reads receives the 413', async () => {
    using connection = await RawConnection.open(service.port);
    connection.socket.pause();
    await new Promise((resolve) => connection.socket.write(fill(post('a'.repeat(500_000))), resolve));
    connection.socket.resume();

    expectFailure(await connection.reply(), 413, { message: 'Payload too large' });
    await connection.ended();
    await expectHealthyAnew();
  });

  test('401 for a bad key, without its oversize body being read', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(`POST ${LOGIN} HTTP/1.1\r\n${HOST}X-API-Key: wrong\r\nContent-Length: 10000000\r\n\r\n`);

    expectFailure(await connection.reply(), 401, { message: 'Invalid API key' });
    await connection.ended();
    await expectHealthyAnew();
  });

  test('405 for HEAD, with headers alone', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(`HEAD ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}\r\n`));

    expect(await connection.reply({ to: 'HEAD' })).toMatchObject({ status: 405, headers: { allow: 'GET' }, body: '' });
    await expectHealthy(connection);
  });

  test('400 for garbage on a connection that has served', async () => {
    using connection = await RawConnection.open(service.port);
    await expectHealthy(connection);
    connection.send('garbage\r\n\r\n');

    expectFailure(await connection.reply(), 400, { message: 'Bad request' });
    await connection.ended();
    await expectHealthyAnew();
  });

  test('a request after a malformed one in the same segment is not answered', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(`GET ${WEBHOOK} HTTP/9.9\r\n${HOST}${KEY}\r\n${HEALTHY}`));

    expectFailure(await connection.reply(), 400, { message: 'Bad request' });
    await connection.ended();
  });

  test('a healthy request is answered before a malformed one in the same segment', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(`${HEALTHY}GET ${WEBHOOK} HTTP/9.9\r\n\r\n`));

    expectWebhook(await connection.reply());
    await connection.ended();
  });

  test.each([
    ...SOUND,
    ['a target in absolute form', `GET http://localhost${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}\r\n`],
    ['a target in absolute form with a query', `GET http://localhost:8080${WEBHOOK}?a=b HTTP/1.1\r\n${HOST}${KEY}\r\n`],
    ['a Host with a port', `GET ${WEBHOOK} HTTP/1.1\r\nHost: usher.test:8443\r\n${KEY}\r\n`],
    ['a Host that is an IPv6 address', `GET ${WEBHOOK} HTTP/1.1\r\nHost: [::1]:8080\r\n${KEY}\r\n`],
    ['an empty line before the request', `\r\n${HEALTHY}`],
    ['a percent-encoded letter in the ID', `GET /api/webhooks/%77h_{digits} HTTP/1.1\r\n${HOST}${KEY}\r\n`],
    ['headers of 10 KB', `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}X-Long: ${'a'.repeat(10_000)}\r\n\r\n`],
    [
      'an Upgrade to a protocol that Usher does not speak',
      `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
    ],
    ['a body on GET', `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}${KEY}Content-Length: 3\r\n\r\n{{{`],
  ])('200 for %s', async (_, bytes) => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(bytes));

    expectWebhook(await connection.reply());
    await expectHealthy(connection);
  });

  test.each([
    ['HTTP/1.0 with a Host', ' HTTP/1.0'],
    ['HTTP/0.9 with headers', ''],
    ['HTTP/2.0 that is HTTP/1.1 but for its name', ' HTTP/2.0'],
    ['Connection: close', ' HTTP/1.1\r\nConnection: close'],
    ['Connection: close among others', ' HTTP/1.1\r\nConnection: x, CLOSE'],
  ])('200 for %s, and the connection closes', async (_, version) => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(`GET ${WEBHOOK}${version}\r\n${HOST}${KEY}\r\n`));

    expectWebhook(await connection.reply());
    await connection.ended();
  });

  test.each([
    ['a body of exactly 64 KiB', (body: string) => post(body.padEnd(MAX_BODY_BYTES))],
    ['a duplicate key whose last value is right', (body: string) => post(body.replace('{', '{"state":7,'))],
    [
      'unknown fields, however deep',
      (body: string) => post(body.replace('{', `{"x":${'['.repeat(9e3)}${']'.repeat(9e3)},`)),
    ],
    ['a body after a byte order mark', (body: string) => post(`\ufeff${body}`)],
    ['a body with no Content-Type', (body: string) => post(body, { type: '' })],
    ['a charset in quotes', (body: string) => post(body, { type: 'application/json; charset="UTF-8"' })],
    ['a body in chunks', (body: string) => inChunks(body)],
  ])('200 for %s', async (_, toBytes) => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(toBytes(JSON.stringify({ redirectUri: REDIRECT_URI, state: 's' }))));

    const reply = await connection.reply();
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.body)).toMatchObject({ status: true, message: 'Auth URL generated successfully' });
    await expectHealthy(connection);
  });

  test('a client that expects 100 Continue receives it, and then the answer', async () => {
    const body = JSON.stringify({ redirectUri: REDIRECT_URI, state: 's' });
    using connection = await RawConnection.open(service.port);
    connection.send(fill(post(body, { headers: 'Expect: 100-continue\r\n' }).subarray(0, -body.length)));

    expect(await connection.reply()).toMatchObject({ status: 100 });
    connection.send(body);
    expect(await connection.reply()).toMatchObject({ status: 200 });
    await expectHealthy(connection);
  });

  test('an x-request-id of the caller is kept on a refusal that Usher makes itself', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(`GET /api/nothing HTTP/1.1\r\nHost: [\r\nX-Request-Id: from-the-caller\r\n\r\n`);

    const reply = await connection.reply();
    expectFailure(reply, 400, { message: 'Invalid host' });
    expect(reply.headers['x-request-id']).toBe('from-the-caller');
  });
});

describe('over HTTP/2', () => {
  interface Http2Row {
    readonly title: string;
    readonly headers: Record<string, string>;
    readonly body?: Buffer;
    readonly status: number;
    readonly message: string;
  }

  test.each<Http2Row>([
    ...['[', 'x:99999', '1.2.3.256', 'a,b:c'].flatMap((authority) =>
      [':authority', 'host'].map((name) => ({
        title: `the ${name} ${JSON.stringify(authority)}`,
        headers: { [name]: authority },
        status: 400,
        message: 'Invalid host',
      })),
    ),
    { title: 'TRACE', headers: { ':method': 'TRACE' }, status: 405, message: 'Method not allowed' },
    { title: 'OPTIONS', headers: { ':method': 'OPTIONS' }, status: 405, message: 'Method not allowed' },
    {
      title: 'an expectation that nobody knows',
      headers: { expect: 'a miracle' },
      status: 417,
      message: 'Expectation failed',
    },
    { title: 'a path that has no route', headers: { ':path': '/api/nothing' }, status: 404, message: 'Not found' },
    {
      title: 'a percent-encoded NUL',
      headers: { ':path': '/api/webhooks/%00' },
      status: 400,
      message: 'Validation failed',
    },
    {
      title: 'an ID of 10 KB',
      headers: { ':path': `/api/webhooks/${'a'.repeat(10_000)}` },
      status: 400,
      message: 'Invalid webhook ID format',
    },
    {
      title: 'a body that is not JSON',
      headers: { ':method': 'POST', ':path': '/api/oauth/exchange' },
      body: Buffer.from('{{{'),
      status: 400,
      message: 'Validation failed',
    },
    {
      title: 'a body in gzip',
      headers: { ':method': 'POST', ':path': '/api/oauth/exchange', 'content-encoding': 'gzip' },
      body: gzipSync('{}'),
      status: 415,
      message: 'Unsupported media type',
    },
    {
      title: 'a body above 64 KiB',
      headers: { ':method': 'POST', ':path': '/api/oauth/exchange' },
      body: Buffer.alloc(MAX_BODY_BYTES + 1, ' '),
      status: 413,
      message: 'Payload too large',
    },
    {
      title: 'a body above 64 KiB whose length is declared',
      headers: { ':method': 'POST', ':path': '/api/oauth/exchange', 'content-length': String(MAX_BODY_BYTES + 1) },
      body: Buffer.alloc(MAX_BODY_BYTES + 1, ' '),
      status: 413,
      message: 'Payload too large',
    },
  ])('$status for $title, and the connection is of use afterwards', async ({ headers, body, status, message }) => {
    using client = openHttp2Session(service.url);
    const good = { ':path': `/api/webhooks/${webhookId}`, 'x-api-key': tenant.apiKey };

    expectFailure(await client.exchange({ ...good, ...headers }, body), status, { message });
    expectWebhook(await client.exchange(good));
  });

  test('405 for CONNECT, and the connection is of use afterwards', async () => {
    using client = openHttp2Session(service.url);
    const stream = client.session.request({ ':method': 'CONNECT', ':authority': 'localhost:443' });

    expectFailure(await readReply(stream), 405, { message: 'Method not allowed' });
    expectWebhook(await client.exchange({ ':path': `/api/webhooks/${webhookId}`, 'x-api-key': tenant.apiKey }));
  });

  test.each(['a b', '', 'user@localhost'])(
    'the :authority %j, which HTTP/2 itself forbids, ends its own stream and no other',
    async (authority) => {
      using client = openHttp2Session(service.url);
      const good = { ':path': `/api/webhooks/${webhookId}`, 'x-api-key': tenant.apiKey };

      await expect(client.exchange({ ...good, ':authority': authority })).rejects.toThrow('NGHTTP2_PROTOCOL_ERROR');
      expectWebhook(await client.exchange(good));
    },
  );

  test('408 when a body stops arriving, and the connection is of use afterwards', async () => {
    using client = openHttp2Session(service.url);
    const stream = client.open({ ':method': 'POST', ':path': '/api/oauth/exchange', 'x-api-key': tenant.apiKey });
    stream.write('{"authToken":');

    expectFailure(await readReply(stream), 408, { message: 'Request timeout' });
    await ended(stream);
    expectWebhook(await client.exchange({ ':path': `/api/webhooks/${webhookId}`, 'x-api-key': tenant.apiKey }));
  });

  test('the stream of an oversize body that goes on and on is answered and ended, and no other', async () => {
    using client = openHttp2Session(service.url);
    const stream = client.open({ ':method': 'POST', ':path': '/api/oauth/exchange', 'x-api-key': tenant.apiKey });
    const timer = setInterval(() => stream.writable && stream.write(Buffer.alloc(16_384, 'a')), 1);
    try {
      expectFailure(await readReply(stream), 413, { message: 'Payload too large' });
      await ended(stream);
    } finally {
      clearInterval(timer);
    }
    expectWebhook(await client.exchange({ ':path': `/api/webhooks/${webhookId}`, 'x-api-key': tenant.apiKey }));
  });
});

/** Puts the tenant's values in, byte for byte. */
function fill(bytes: string | Buffer): Buffer {
  const text = typeof bytes === 'string' ? bytes : bytes.toString('latin1');
  return Buffer.from(
    text
      .replaceAll('{key}', tenant.apiKey)
      .replaceAll('{client}', tenant.clientId)
      .replaceAll('{webhook}', webhookId)
      .replaceAll('{digits}', webhookId.slice(3)),
    'latin1',
  );
}

function expectFailure(
  reply: Pick<RawReply, 'status' | 'headers' | 'body'>,
  status: number,
  { message, errors }: { message: string; errors?: Row['errors'] },
): void {
  expect(reply.status).toBe(status);
  expect(reply.headers['content-type']).toBe('application/json');
  expect(reply.headers['x-request-id']).toMatch(/^[\w.:+/=-]{1,128}$/);
  const { errors: reported, ...envelope } = JSON.parse(reply.body);
  expect(envelope).toEqual({ status: false, message });
  if (errors) expect(reported).toEqual(errors);
  else if (message !== 'Validation failed') expect(reported).toBeUndefined();
}

function expectWebhook(reply: Pick<RawReply, 'status' | 'body'>): void {
  expect(reply.status).toBe(200);
  expect(JSON.parse(reply.body)).toMatchObject({ status: true, data: { webhookId } });
}

async function expectHealthy(connection: RawConnection): Promise<void> {
  connection.send(fill(HEALTHY));
  expectWebhook(await connection.reply());
}

async function expectHealthyAnew(): Promise<void> {
  expectWebhook(
    await request(service.url, { path: `/api/webhooks/${webhookId}`, headers: { 'x-api-key': tenant.apiKey } }),
  );
}

/** Writes the bytes over and over, as fast as they are taken, until the connection is gone. */
async function keepSending(connection: RawConnection, bytes: string, signal: AbortSignal): Promise<void> {
  const { socket } = connection;
  try {
    while (!signal.aborted && socket.writable) {
      if (!socket.write(bytes)) await once(socket, 'drain', { signal });
      else await new Promise(setImmediate);
    }
  } catch {
    // The server has closed, which is what it is to do.
  }
}
