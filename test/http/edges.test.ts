/** What no client of good will does, and no other table has room for. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTrustedProxies } from '../../src/config/trusted-proxies.ts';
import { openListener } from '../../src/http/listener.ts';
import { request } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

describe('a handler that throws', () => {
  it('is answered 500 in the envelope, reported with the request ID, and stops nothing', async () => {
    const listener = await openListener({
      host: '127.0.0.1',
      port: 0,
      tls: undefined,
      trustedProxies: parseTrustedProxies([]),
    });
    const reported: unknown[] = [];
    const failure = new Error('a bug');
    listener.serve(
      async () => {
        throw failure;
      },
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
});

describe('over HTTP/2', () => {
  it('431 for headers of more than 16 KiB', async () => {
    const headers = { 'x-large': 'x'.repeat(20_000) };
    const reply = await request(service.url, { httpVersion: '2', path: '/healthz', headers });
    expect(reply.status).toBe(431);
    expect(JSON.parse(reply.body)).toEqual({ status: false, message: 'Request header fields too large' });
  });
});

describe('over HTTP/2, on a connection that has served,', () => {
  it('431 for headers of more than 16 KiB, and the connection serves on', async () => {
    using client = openHttp2Session(service.url);
    expect((await client.exchange({ ':path': '/healthz' })).status).toBe(200);
    for (const bytes of [17_000, 40_000]) {
      const reply = await client.exchange({ ':path': '/api/webhooks/x', 'x-large': 'x'.repeat(bytes) });
      expect(reply.status, `${bytes} bytes`).toBe(431);
      expect(JSON.parse(reply.body)).toEqual({ status: false, message: 'Request header fields too large' });
    }
    expect((await client.exchange({ ':path': '/healthz' })).status).toBe(200);
  });

  it('no more than 100 streams at once are offered', async () => {
    using client = openHttp2Session(service.url);
    await client.exchange({ ':path': '/healthz' });
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(100);
  });
});

describe('gRPC over HTTP/1.1, which gRPC does not have,', () => {
  it.each([
    ['in the trailers', 'Content-Length: 0\r\n\r\n'],
    ['in the head of an answer that ends the connection', 'Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n'],
  ])('has its status %s', async (_, rest) => {
    using connection = await RawConnection.open(service.port);
    connection.send(
      `POST /usher.v1.WebhookService/GetWebhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/grpc\r\n${rest}`,
    );
    const { status, headers, trailers } = await connection.reply();
    expect(status).toBe(200);
    expect({ ...headers, ...trailers }).toMatchObject({ 'grpc-status': '16', 'grpc-message': 'Invalid%20API%20key' });
  });
});

describe('a request that was answered before all of it had come', () => {
  it.each([
    ['ends too early', (connection: RawConnection) => connection.socket.end()],
    ['never ends', () => {}],
  ])('gets no second answer when it %s', async (_, goOn) => {
    using connection = await RawConnection.open(service.port);
    connection.send('GET /api/webhooks/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12');
    expect((await connection.reply()).status).toBe(401);
    goOn(connection);
    await expect
      .poll(() => connection.socket.readableEnded || connection.socket.destroyed, { timeout: 15_000 })
      .toBe(true);
    expect(connection.ending).toBeDefined();
  });
});

describe('CONNECT over HTTP/1.1', () => {
  it('405, with the request ID of the caller', async () => {
    using connection = await RawConnection.open(service.port);
    connection.send('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nX-Request-Id: of-mine\r\n\r\n');
    const { status, headers, body } = await connection.reply();
    expect(status).toBe(405);
    expect(headers['x-request-id']).toBe('of-mine');
    expect(JSON.parse(body)).toEqual({ status: false, message: 'Method not allowed' });
  });
});

describe('reflection over HTTP/1.1', () => {
  it('505, since a stream both ways needs HTTP/2', async () => {
    const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    const headers = { 'content-type': 'application/connect+json' };
    const reply = await request(service.url, { method: 'POST', path, headers });
    expect(reply.status).toBe(505);
    expect(JSON.parse(reply.body)).toEqual({ code: 'unimplemented', message: 'This method needs HTTP/2' });
  });
});

describe.each(['/healthz', '/readyz', '/.well-known/jwks.json'])('%s', (path) => {
  it('405 with Allow for anything but reading', async () => {
    const reply = await request(service.url, { method: 'POST', path });
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toBe('GET, HEAD');
  });

  it('has the same head for HEAD as for GET, and no body', async () => {
    const [head, get] = await Promise.all(['HEAD', 'GET'].map((method) => request(service.url, { method, path })));
    expect(head?.body).toBe('');
    expect(head?.status).toBe(200);
    expect(head?.headers['content-length']).toBe(get?.headers['content-length']);
    expect(Number(get?.headers['content-length'])).toBe(get?.body.length);
  });
});
