/** What endpoints, names and redirects may do to Usher. Addresses and URLs: test/domain/webhooks/address-policy.test.ts. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
  type TlsOptions,
} from 'node:tls';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Resolve } from '../../../src/delivery/address-lookup.ts';
import { Sender } from '../../../src/delivery/attempt.ts';
import type { AttemptOutcome } from '../../../src/delivery/http-exchange.ts';
import { AddressPolicy } from '../../../src/domain/webhooks/address-policy.ts';
import { createCertificate } from '../../support/certificate.ts';
import { HOUR } from '../../support/clock.ts';
import { FLOOD_PARTS, FLOODS } from '../../support/floods.ts';

const BODY = '{"type":"webhook.test"}';
const TIMED_OUT = 'The endpoint did not answer in time';
const NOT_ALLOWED = 'The address is not allowed';
const NOT_HTTP = 'The response is not valid HTTP';
const FAILED = 'The connection failed';
const CLOSED = 'The connection failed: the endpoint closed it';
const NOT_CONNECTED = 'The endpoint did not answer in time: no connection was established';
const TLS_FAILED = 'The TLS connection failed';
const UNTRUSTED = `${TLS_FAILED}: the certificate is of no known authority, or its chain is incomplete`;
const TIMEOUT_MS = 20_000;
const SHORT_TIMEOUT_MS = 400;
/** Times the CPU of an attempt that reads 64 KiB. Without limits it would be a thousand times as much and more. */
const MAX_COST_OF_FLOOD = 250;

function createSender({ resolve = async () => ['127.0.0.1'], proxyUrl, timeoutMs = TIMEOUT_MS }: Options = {}): Sender {
  const policy = new AddressPolicy(['127.0.0.1/32']);
  const sender = new Sender({ policy, resolve, timeoutMs, proxyUrl });
  onTestFinished(() => sender.close());
  return sender;
}

interface Options {
  readonly resolve?: Resolve;
  readonly proxyUrl?: string;
  readonly timeoutMs?: number;
}

/** Listens on every address of the machine and hands over each connection, with the address it came to. */
async function listen(serve: (socket: Socket) => unknown) {
  const reached: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    reached.push(socket.localAddress ?? '');
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    // Without a reader it would not notice that Usher closes the connection.
    socket.resume();
    serve(socket);
  }).listen(0, '0.0.0.0');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, reached, sockets };
}

const deliver = (sender: Sender, url: string) => sender.send({ url, headers: {}, body: BODY });

const HEAD = 'HTTP/1.1 200 OK\r\n';
const HINT = 'HTTP/1.1 103 Early Hints\r\n\r\n';
const reply = (text: string) => (socket: Socket) => socket.once('data', () => socket.write(text, 'latin1'));
const repeat = (first: string, next: string, everyMs: number) => (socket: Socket) => {
  socket.write(first);
  const timer = setInterval(() => socket.write(next), everyMs);
  socket.on('close', () => clearInterval(timer));
};

type Row = [name: string, serve: (socket: Socket) => unknown, expected: Partial<AttemptOutcome>, scheme?: 'https'];

describe('an endpoint that', () => {
  test.each<Row>([
    ['accepts and says nothing', () => {}, { statusCode: null, error: TIMED_OUT }],
    ['drips its head', repeat('HTTP/1.1 200 OK\r\nx-a: ', 'a', 20), { statusCode: null, error: TIMED_OUT }],
    ['drips its body', repeat(`${HEAD}content-length: 60000\r\n\r\n`, 'a', 20), { statusCode: 200, error: null }],
    [
      'never ends its body',
      reply(`${HEAD}transfer-encoding: chunked\r\n\r\n1\r\na\r\n`),
      { error: null, responseBody: 'a' },
    ],
    ['sends early hints for ever', repeat('', 'HTTP/1.1 103 Early Hints\r\n\r\n', 20), { error: NOT_HTTP }],
    ['continues for ever', repeat('', 'HTTP/1.1 100 Continue\r\n\r\n', 20), { error: NOT_HTTP }],
    ['sends a few early hints', reply(`${HINT.repeat(3)}${HEAD}content-length: 2\r\n\r\nok`), { responseBody: 'ok' }],
    ['sends headers without end', repeat(HEAD, `x-a: ${'a'.repeat(2_000)}\r\n`, 1), { error: NOT_HTTP }],
    ['speaks another protocol', reply('SSH-2.0-OpenSSH_9.6\r\n'), { error: NOT_HTTP }],
    [
      'splits its response',
      reply(`${HEAD}x-a: b\r\n\tHTTP/1.1 204\r\ncontent-length: 2, 3\r\n\r\nok`),
      { error: NOT_HTTP },
    ],
    [
      'sends two lengths',
      reply(`${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok`),
      { error: NOT_HTTP },
    ],
    [
      'switches protocols',
      reply('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      { error: FAILED },
    ],
    ['closes at once', (socket: Socket) => socket.end(), { statusCode: null, error: CLOSED }],
    ['resets', (socket: Socket) => socket.resetAndDestroy(), { statusCode: null, error: CLOSED }],
    [
      'closes inside its head',
      (socket: Socket) => socket.end(`${HEAD}content-le`),
      { statusCode: null, error: CLOSED },
    ],
    // The status counts, whatever becomes of the body.
    [
      'closes inside its body',
      (socket: Socket) => socket.end(`${HEAD}content-length: 9\r\n\r\nok`),
      { statusCode: 200, error: null, responseBody: 'ok' },
    ],
    [
      'resets inside its body',
      (socket: Socket) =>
        socket.write(`${HEAD}content-length: 9\r\n\r\n`, () => setTimeout(() => socket.resetAndDestroy(), 50)),
      { statusCode: 200, error: null, responseBody: '' },
    ],
    [
      'closes between its chunks',
      (socket: Socket) => socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\n2\r\nok\r\n`),
      { statusCode: 200, error: null, responseBody: 'ok' },
    ],
    [
      'sends a broken chunk',
      reply(`${HEAD}transfer-encoding: chunked\r\n\r\nxyz\r\n`),
      { statusCode: 200, error: null },
    ],
    [
      'sends a body with 204',
      reply('HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok'),
      { statusCode: 204, error: null, responseBody: '' },
    ],
    [
      'closes inside the body of 503',
      (socket: Socket) => socket.end('HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 9\r\n\r\n'),
      { statusCode: 503, error: 'The endpoint answered with status 503', retryAfter: '7' },
    ],
    [
      'closes inside the body of 410',
      (socket: Socket) => socket.end('HTTP/1.1 410 Gone\r\ncontent-length: 9\r\n\r\n'),
      { statusCode: 410, error: 'The endpoint answered with status 410' },
    ],
    ['is no TLS server', reply(`${HEAD}\r\n`), { statusCode: null, error: TLS_FAILED }, 'https'],
    ['never ends the TLS handshake', () => {}, { statusCode: null, error: NOT_CONNECTED }, 'https'],
    ['drips its TLS handshake', repeat('\x16\x03\x03\x40\x00', 'a', 20), { error: NOT_CONNECTED }, 'https'],
    [
      'answers 410',
      reply('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n'),
      { statusCode: 410, error: 'The endpoint answered with status 410' },
    ],
    [
      'answers 503',
      reply('HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n'),
      { statusCode: 503, retryAfter: '7' },
    ],
    ['answers 204', reply('HTTP/1.1 204 No Content\r\n\r\n'), { statusCode: 204, error: null, responseBody: '' }],
    [
      'answers before it has read',
      (socket: Socket) => socket.write(`${HEAD}content-length: 2\r\n\r\nok`),
      { statusCode: 200, error: null, responseBody: 'ok' },
    ],
    ['sends NUL and broken UTF-8', reply(`${HEAD}content-length: 4\r\n\r\na\0\xff!`), { statusCode: 200, error: null }],
  ])('%s', async (name, serve, expected, scheme) => {
    const endpoint = await listen(serve);
    const isEndless = expected.error?.startsWith(TIMED_OUT) || /^(drips|never ends) its body/.test(name);
    const timeoutMs = isEndless ? SHORT_TIMEOUT_MS : TIMEOUT_MS;
    const outcome = await deliver(createSender({ timeoutMs }), `${scheme ?? 'http'}://hooks.test:${endpoint.port}/`);
    expect(outcome).toMatchObject(expected);
    expect(outcome.responseBody ?? '').not.toContain('\0');
    // A slot that is free again holds no connection, unless that can be used again.
    const isUsable = outcome.error === null || outcome.error.includes('with status');
    if (!isUsable) await expect.poll(() => endpoint.sockets.size).toBe(0);
  });

  test('refuses connections says so', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const outcome = await deliver(createSender(), `http://hooks.test:${port}/`);
    expect(outcome).toMatchObject({ statusCode: null, error: 'The connection failed: the endpoint refused it' });
  });

  test('sends a huge body: the first 4 KiB are kept, and no more than 64 KiB are read', async () => {
    let sent = 0;
    const endpoint = await listen((socket) => {
      socket.once('data', () => {
        socket.write(`${HEAD}content-length: 999999999999\r\n\r\n`);
        const write = () => {
          while (!socket.destroyed && socket.write('a'.repeat(16_384))) sent += 16_384;
        };
        socket.on('drain', write);
        write();
      });
    });
    const outcome = await deliver(createSender(), `http://127.0.0.1:${endpoint.port}/`);
    expect(outcome).toMatchObject({ statusCode: 200, error: null, responseBody: 'a'.repeat(4_096) });
    await expect.poll(() => endpoint.sockets.size).toBe(0);
    // The buffers of the two sockets.
    expect(sent).toBeLessThan(50_000_000);
  });

  test('floods what frames a response costs Usher hardly more CPU than one that sends a long body', async () => {
    const endpoint = fork(new URL('../../support/flooding-endpoint.ts', import.meta.url));
    onTestFinished(() => void endpoint.kill());
    const [port] = await once(endpoint, 'message');
    const sender = createSender();
    const measure = async (path: string) => {
      const before = process.cpuUsage();
      const { error } = await deliver(sender, `http://127.0.0.1:${port}/${path}`);
      const { user, system } = process.cpuUsage(before);
      return { path, error, cpuUs: user + system };
    };
    const bodies = [];
    while (bodies.length < 10) bodies.push(await measure('body'));
    const costOfBody = bodies.reduce((sum, { cpuUs }) => sum + cpuUs, 0) / bodies.length;
    for (const path of FLOODS) {
      const { error, cpuUs } = await measure(path);
      // The status counts once its head is read.
      const hasHead = FLOOD_PARTS[path]?.[0].includes('\r\n\r\n');
      expect.soft({ path, error }).toEqual({ path, error: hasHead ? null : NOT_HTTP });
      expect.soft(cpuUs / costOfBody, path).toBeLessThan(MAX_COST_OF_FLOOD);
    }
  });

  test.each([301, 302, 303, 307, 308])('redirects with %i is not followed', async (status) => {
    const target = await listen(reply(`${HEAD}content-length: 6\r\n\r\nsecret`));
    const location = `http://127.0.0.1:${target.port}/`;
    const endpoint = await listen(
      reply(`HTTP/1.1 ${status} Moved\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`),
    );
    const outcome = await deliver(createSender(), `http://127.0.0.1:${endpoint.port}/`);
    expect(outcome).toMatchObject({
      statusCode: status,
      error: `The endpoint answered with status ${status}`,
      responseBody: '',
    });
    expect(target.reached).toEqual([]);
  });

  test('closes an idle connection just when it is used again gets the message over a new one', async () => {
    let requests = 0;
    const endpoint = await listen((socket) => {
      let isFirst = true;
      socket.on('data', () => {
        requests++;
        if (!isFirst) return socket.resetAndDestroy();
        isFirst = false;
        return socket.write(`${HEAD}content-length: 2\r\n\r\nok`);
      });
    });
    const sender = createSender();
    const url = `http://127.0.0.1:${endpoint.port}/`;
    expect(await deliver(sender, url)).toMatchObject({ statusCode: 200 });
    expect(await deliver(sender, url)).toMatchObject({ statusCode: 200 });
    expect([requests, endpoint.reached.length]).toEqual([3, 2]);
  });
});

describe('a name', () => {
  test.each([
    ['with a forbidden address', ['127.0.0.2']],
    ['with a public and a forbidden address', ['127.0.0.1', '127.0.0.2']],
    ['with a forbidden IPv6 address besides', ['127.0.0.1', '::1']],
    ['without addresses', []],
    ['with a mapped address that is forbidden', ['::ffff:127.0.0.2']],
    ['with an answer that is no address', ['hooks.test']],
  ])('%s is not connected to', async (_, addresses) => {
    const endpoint = await listen(reply(`${HEAD}\r\n`));
    const sender = createSender({ resolve: async () => addresses });
    const urls = ['http', 'https'].map((scheme) => `${scheme}://hooks.test:${endpoint.port}/`);
    const outcomes = await Promise.all(urls.map((url) => deliver(sender, url)));
    expect(outcomes).toMatchObject([{ error: NOT_ALLOWED }, { error: NOT_ALLOWED }]);
    expect(endpoint.reached).toEqual([]);
  });

  test('that cannot be resolved is told as one that is forbidden', async () => {
    const sender = createSender({
      resolve: () => Promise.reject(new Error('queryA ENOTFOUND internal.test 10.0.0.53')),
    });
    expect(await deliver(sender, 'http://internal.test/')).toMatchObject({ error: NOT_ALLOWED, responseBody: null });
  });

  test('that is known at once is refused no sooner than one that a name server has been asked for', async () => {
    const asked = sleep(200).then(() => []);
    const sender = createSender({ resolve: async (host) => (host === 'known.test' ? ['10.0.0.1'] : asked) });
    const ended: string[] = [];
    await Promise.all([
      ...['http', 'https'].map((scheme) =>
        deliver(sender, `${scheme}://known.test/`).then(({ error }) => ended.push(error ?? '')),
      ),
      asked.then(() => ended.push('asked')),
      deliver(sender, 'http://unknown.test/').then(({ error }) => ended.push(error ?? '')),
    ]);
    expect(ended).toEqual(['asked', NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED]);
  });

  test('that is resolved for ever ends with the attempt', async () => {
    const sender = createSender({ resolve: () => new Promise(() => {}), timeoutMs: SHORT_TIMEOUT_MS });
    expect(await deliver(sender, 'http://hooks.test/')).toMatchObject({ error: NOT_CONNECTED });
  });

  test('that changes between look-ups is looked up once per connection, and checked each time', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1']];
    let lookups = 0;
    const endpoint = await listen(reply(`${HEAD}connection: close\r\ncontent-length: 0\r\n\r\n`));
    const sender = createSender({ resolve: async () => answers[lookups++] ?? [] });
    const url = `http://hooks.test:${endpoint.port}/`;
    expect(await deliver(sender, url)).toMatchObject({ statusCode: 200 });
    expect(await deliver(sender, url)).toMatchObject({ error: NOT_ALLOWED });
    expect(await deliver(sender, url)).toMatchObject({ statusCode: 200 });
    expect(lookups).toBe(3);
    expect(endpoint.reached).toEqual(['127.0.0.1', '127.0.0.1']);
  });
});

test.each([
  'http://127.0.0.2',
  'http://2130706434',
  'http://[::1]',
  'http://[::ffff:127.0.0.2]',
  'https://127.0.0.2',
  'http://user@127.0.0.1',
])('the stored URL %s is not connected to', async (origin) => {
  const endpoint = await listen(reply(`${HEAD}\r\n`));
  expect(await deliver(createSender(), `${origin}:${endpoint.port}/`)).toMatchObject({ error: NOT_ALLOWED });
  expect(endpoint.reached).toEqual([]);
});

test('ignores the proxy of the environment, and uses the one of the settings', async () => {
  const proxied: string[] = [];
  const proxy = createHttpServer((request, response) => {
    proxied.push(`${request.method} ${request.url}`);
    response.end('proxied');
  }).listen(0, '127.0.0.1');
  proxy.on('connect', (request, socket: Socket) => {
    proxied.push(`CONNECT ${request.url}`);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const endpoint = await listen(reply(`${HEAD}content-length: 6\r\n\r\ndirect`));
  const url = `http://127.0.0.1:${endpoint.port}/`;

  Object.assign(process.env, { http_proxy: proxyUrl, HTTP_PROXY: proxyUrl, NODE_USE_ENV_PROXY: '1' });
  onTestFinished(() => {
    for (const name of ['http_proxy', 'HTTP_PROXY', 'NODE_USE_ENV_PROXY']) delete process.env[name];
  });
  expect(await deliver(createSender(), url)).toMatchObject({ responseBody: 'direct' });
  const sender = createSender({ proxyUrl, resolve: () => Promise.reject(new Error('The proxy resolves')) });
  expect(await deliver(sender, 'http://hooks.test:4000/a')).toMatchObject({ responseBody: 'proxied' });
  expect(await deliver(sender, 'https://hooks.test/a')).toMatchObject({
    error: 'The connection failed: the proxy refused it',
  });
  expect(await deliver(sender, 'https://10.0.0.1/a')).toMatchObject({ error: NOT_ALLOWED });
  expect(proxied).toEqual(['POST http://hooks.test:4000/a', 'CONNECT hooks.test:443']);
});

describe('over TLS', () => {
  const trusted = getCACertificates('default');
  afterAll(() => setDefaultCACertificates(trusted));

  test('a certificate that is not trusted, or of another name, gets nothing', async () => {
    const certificate = await createCertificate();
    let requests = 0;
    const server = createHttpsServer(certificate, (_, response) => {
      requests++;
      response.end('ok');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await deliver(createSender(), `https://localhost:${port}/`)).toMatchObject({ error: UNTRUSTED });
    setDefaultCACertificates([...trusted, certificate.cert]);
    expect(await deliver(createSender(), `https://hooks.test:${port}/`)).toMatchObject({
      error: `${TLS_FAILED}: the certificate is for another host name`,
    });
    expect(requests).toBe(0);
    expect(await deliver(createSender(), `https://localhost:${port}/`)).toMatchObject({
      statusCode: 200,
      responseBody: 'ok',
    });
  });

  test('an endpoint says what is wrong with its certificate, and that it requires one', async () => {
    const [valid, expired] = [await createCertificate(), await createCertificate('ec', new Date(Date.now() - HOUR))];
    setDefaultCACertificates([...trusted, valid.cert, expired.cert]);
    const errorOf = async (options: TlsOptions) => {
      const server = createTlsServer(options, (socket) => void socket.on('error', () => {}).end(`${HEAD}\r\n`));
      server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      return (await deliver(createSender(), `https://localhost:${(server.address() as AddressInfo).port}/`)).error;
    };
    expect(await errorOf(expired)).toBe(`${TLS_FAILED}: the certificate has expired`);
    const demanding = { ...valid, requestCert: true, rejectUnauthorized: true };
    expect(await errorOf(demanding)).toBe(`${TLS_FAILED}: the endpoint requires a client certificate`);
    expect(await errorOf({ ...demanding, maxVersion: 'TLSv1.2' })).toBe(
      `${TLS_FAILED}: the endpoint refused the handshake, and may require a client certificate`,
    );
  });

  test('an endpoint that renegotiates for ever does not send valid HTTP', async () => {
    const certificate = await createCertificate();
    setDefaultCACertificates([...trusted, certificate.cert]);
    const server = createTlsServer({ ...certificate, maxVersion: 'TLSv1.2' }, (socket) => {
      const renegotiate = () => !socket.destroyed && socket.renegotiate({}, renegotiate);
      socket.on('error', () => {}).resume();
      renegotiate();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await deliver(createSender(), `https://localhost:${port}/`)).toMatchObject({ error: NOT_HTTP });
  });
});

test('an attempt does not begin after its signal was aborted', async () => {
  const endpoint = await listen(reply(`${HEAD}\r\n`));
  const attempt = { url: `http://127.0.0.1:${endpoint.port}/`, headers: {}, body: BODY };
  const outcome = await createSender().send(attempt, AbortSignal.abort());
  expect(outcome).toMatchObject({ statusCode: null, error: 'Usher ended the attempt' });
  expect(endpoint.reached).toEqual([]);
});

test('an aborted signal ends the attempt', async () => {
  const endpoint = await listen(() => {});
  const stop = new AbortController();
  const sent = createSender({ timeoutMs: 60_000 }).send(
    { url: `http://127.0.0.1:${endpoint.port}/`, headers: {}, body: BODY },
    stop.signal,
  );
  await expect.poll(() => endpoint.reached.length).toBe(1);
  await sleep(1);
  stop.abort();
  expect(await sent).toMatchObject({ statusCode: null, error: 'Usher ended the attempt' });
});
