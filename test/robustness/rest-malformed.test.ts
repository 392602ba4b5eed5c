/** Malformed HTTP requests to the REST API: each gets a reply in the envelope, and the service goes on. */
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { checkReason } from '../support/error-details.ts';
import { request } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import {
  HEALTHY,
  HOST,
  inChunks,
  KEY,
  LOGIN,
  MALFORMED,
  MAX_BODY_BYTES,
  post,
  type Row,
  UNFINISHED,
  UNUSUAL,
  WEBHOOK,
} from '../support/malformed-requests.ts';
import { RawConnection, type RawReply } from '../support/raw-connection.ts';
import { REDIRECT_URI, startTestService } from '../support/service.ts';
import { openWebhookFixture } from '../support/webhook-fixture.ts';

const BODY = JSON.stringify({ redirectUri: REDIRECT_URI, state: 's' });

const fixture = await openWebhookFixture({ config: { shutdownTimeoutMs: 500 } });
const { service, tenant, webhookId } = fixture;

afterAll(() => fixture.close());

describe('over HTTP/1.1', () => {
  test.each(MALFORMED)('returns $status for $title', async ({ bytes, status, message, errors, help, allow, kept }) => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(bytes));
    const reply = await connection.reply();

    expectFailure(reply, status, { message, errors, help });
    expect(reply.headers.allow).toBe(allow);
    if (kept) {
      await expectHealthy(connection);
    } else {
      expect(reply.headers.connection).toBe('close');
      await connection.ended();
    }
    await fixture.expectHealthy();
  });

  test('returns 408 for a body that stops arriving', async () => {
    // The request timeout is how long a service waits for a body.
    const config = { requestTimeoutMs: 300 };
    await using hasty = await startTestService({ database: service.database, like: service.config, config });
    using connection = await RawConnection.open(hasty.port);
    connection.send(fill(UNFINISHED));

    expectFailure(await connection.reply(), 408, { message: 'Request timeout' });
    expect(await request(hasty.url, { path: '/healthz' })).toMatchObject({ status: 200 });
  });

  test.each([
    ['a body', UNFINISHED],
    ['the headers', `GET ${WEBHOOK} HTTP/1.1\r\n${HOST}X-API-`],
  ])('returns 400 if the client ends its side in the middle of %s', async (_, bytes) => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(bytes));
    connection.socket.end();

    expectFailure(await connection.reply(), 400, { message: 'Bad request' });
    await connection.ended();
    await fixture.expectHealthy();
  });

  test.each([
    ['declared', 'Content-Length: 67108864\r\n', (bytes: string) => bytes],
    ['chunked', 'Transfer-Encoding: chunked\r\n', (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`],
  ])('returns 413 and closes while a client keeps sending an oversize %s body', async (_, header, frame) => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(`POST ${LOGIN} HTTP/1.1\r\n${HOST}${KEY}${header}\r\n`));
    const bytes = frame('a'.repeat(8_192));
    const sending = setInterval(() => connection.socket.writable && connection.send(bytes), 1);
    try {
      const reply = await connection.reply();

      expectFailure(reply, 413, { message: 'Payload too large' });
      expect(reply.headers.connection).toBe('close');
      await connection.ended();
    } finally {
      clearInterval(sending);
    }
    await fixture.expectHealthy();
  });

  test.each(UNUSUAL)('returns 200 for %j', async (bytes) => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(bytes));

    fixture.expectWebhook(await connection.reply());
    await expectHealthy(connection);
  });

  test.each([' HTTP/1.0', '', ' HTTP/2.0', ' HTTP/1.1\r\nConnection: x, CLOSE'])(
    'returns 200 for the version "%s" and closes the connection',
    async (version) => {
      using connection = await RawConnection.open(service.port);
      connection.send(fill(`GET ${WEBHOOK}${version}\r\n${HOST}${KEY}\r\n`));

      fixture.expectWebhook(await connection.reply());
      await connection.ended();
    },
  );

  const unusualBodies: [title: string, toBytes: (body: string) => string | Buffer][] = [
    ['with a duplicate key whose last value is valid', (body) => post(body.replace('{', '{"state":7,'))],
    ['with deep unknown fields', (body) => post(body.replace('{', `{"x":${'['.repeat(9e3)}${']'.repeat(9e3)},`))],
    ['after a byte order mark', (body) => post(`\ufeff${body}`)],
    ['in chunks', inChunks],
  ];

  test.each(unusualBodies)('returns 200 for a body %s', async (_, toBytes) => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(toBytes(BODY)));

    const reply = await connection.reply();
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.body)).toMatchObject({ status: true, message: 'Auth URL generated successfully' });
    await expectHealthy(connection);
  });

  test('sends 100 Continue to a client that expects it, and then the answer', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(fill(post(BODY, { headers: 'Expect: 100-continue\r\n' }).subarray(0, -BODY.length)));

    expect(await connection.reply()).toMatchObject({ status: 100 });
    connection.send(BODY);
    expect(await connection.reply()).toMatchObject({ status: 200 });
    await expectHealthy(connection);
  });

  test('keeps the x-request-id of a request that it refuses', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send(`GET /api/nothing HTTP/1.1\r\nHost: [\r\nX-Request-Id: from-the-caller\r\n\r\n`);

    const reply = await connection.reply();
    expectFailure(reply, 400, { message: 'Invalid host' });
    expect(reply.headers['x-request-id']).toBe('from-the-caller');
  });
});

describe('over HTTP/2', () => {
  const exchange = { ':method': 'POST', ':path': '/api/oauth/exchange' };
  const noEncoding = [{ field: 'Content-Encoding', message: 'must be identity' }];
  /** One of each kind: what is refused is the same as over HTTP/1.1. */
  const malformed: [
    title: string,
    headers: Record<string, string>,
    status: number,
    message: string,
    body?: Buffer,
    errors?: Row['errors'],
  ][] = [
    ['an invalid :authority', { ':authority': '1.2.3.256' }, 400, 'Invalid host'],
    ['an invalid host', { host: 'a,b:c' }, 400, 'Invalid host'],
    ['TRACE', { ':method': 'TRACE' }, 405, 'Method not allowed'],
    ['an unknown expectation', { expect: 'a miracle' }, 417, 'Expectation failed'],
    ['a percent-encoded NUL', { ':path': '/api/webhooks/%00' }, 400, 'Invalid webhook ID format'],
    ['an ID of 10 KB', { ':path': `/api/webhooks/${'a'.repeat(10_000)}` }, 400, 'Invalid webhook ID format'],
    ['a body that is not JSON', exchange, 400, 'Validation failed', Buffer.from('{{{')],
    [
      'a body in gzip',
      { ...exchange, 'content-encoding': 'gzip' },
      415,
      'Unsupported media type',
      gzipSync('{}'),
      noEncoding,
    ],
    ['an oversize body', exchange, 413, 'Payload too large', Buffer.alloc(MAX_BODY_BYTES + 1, ' ')],
  ];

  test.each(malformed)('refuses %s and keeps the connection', async (_, headers, status, message, body, errors) => {
    using client = openHttp2Session(service.url);
    expectFailure(await client.exchange({ ...fixture.http2, ...headers }, body), status, { message, errors });
    fixture.expectWebhook(await client.exchange(fixture.http2));
  });

  test.each(['a b', '', 'user@localhost'])(
    'resets only the stream with the :authority %j, which HTTP/2 forbids',
    async (authority) => {
      using client = openHttp2Session(service.url);
      const forbidden = client.exchange({ ...fixture.http2, ':authority': authority });

      await expect(forbidden).rejects.toThrow('NGHTTP2_PROTOCOL_ERROR');
      fixture.expectWebhook(await client.exchange(fixture.http2));
    },
  );
});

/** Returns the bytes with the tenant's values in place. */
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
  { message, errors, help }: { message: string; errors?: Row['errors']; help?: Row['help'] },
): void {
  expect(reply.status).toBe(status);
  expect(reply.headers['content-type']).toBe('application/json');
  expect(reply.headers['x-request-id']).toMatch(/^[\w.:+/=-]{1,128}$/);
  const { errors: reported, ...envelope } = JSON.parse(reply.body);
  expect(envelope).toEqual({ status: false, message, reason: expect.any(String), help });
  checkReason(envelope.reason, message);
  if (errors) expect(reported).toEqual(errors);
  else if (message !== 'Validation failed') expect(reported).toBeUndefined();
}

async function expectHealthy(connection: RawConnection): Promise<void> {
  connection.send(fill(HEALTHY));
  fixture.expectWebhook(await connection.reply());
}
