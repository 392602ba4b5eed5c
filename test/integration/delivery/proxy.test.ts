/** Attempts through the proxy of WEBHOOK_PROXY_URL, and what that proxy may do to Usher. */
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { Sender } from '../../../src/delivery/attempt.ts';
import { AddressPolicy } from '../../../src/domain/webhooks/address-policy.ts';
import { createCertificate } from '../../support/certificate.ts';

const OPEN = 'HTTP/1.1 200 Connection established\r\n\r\n';
const TIMED_OUT = 'The endpoint did not answer in time: no connection was established';
const NOT_HTTP = 'The response is not valid HTTP';
const FAILED = 'The connection failed: the proxy cannot be reached, or gave no valid answer';
const REFUSED = 'The connection failed: the proxy refused it';
/** The limit on its answer may be reached first. */
const UNUSABLE = expect.stringMatching(/^The connection failed: the proxy /);

const certificate = await createCertificate();
const trusted = getCACertificates('default');
setDefaultCACertificates([...trusted, certificate.cert]);
afterAll(() => setDefaultCACertificates(trusted));

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A proxy that hands over each connection with the head of its request. */
async function startProxy(serve: (socket: Socket, head: string) => unknown) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    socket.once('data', (head) => serve(socket, head.toString()));
    socket.resume();
  });
  const url = `http://us%20er:p%40ss@127.0.0.1:${await listen(server)}`;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { url, sockets };
}

/** Opens every tunnel to the same port of this machine. */
const tunnelTo = (port: number) => (socket: Socket) => {
  const endpoint = connect(port, '127.0.0.1', () => socket.write(OPEN)).on('error', () => socket.destroy());
  socket.pipe(endpoint).pipe(socket);
};

function createSender(proxyUrl: string, timeoutMs = 20_000): Sender {
  const policy = new AddressPolicy(['127.0.0.1/32']);
  const sender = new Sender({ policy, resolve: () => Promise.reject(new Error('no')), timeoutMs, proxyUrl });
  onTestFinished(() => sender.close());
  return sender;
}

const deliver = (sender: Sender, signal?: AbortSignal) =>
  sender.send({ url: 'https://localhost:4443/a', headers: {}, body: '{}' }, signal);

const repeat = (first: string, next: string, everyMs: number) => (socket: Socket) => {
  socket.write(first);
  const timer = setInterval(() => socket.write(next), everyMs);
  socket.on('close', () => clearInterval(timer));
};

/** In one write, so that Usher reads it at once. */
const refuseWith =
  (status: number, page: string, headers = '') =>
  (socket: Socket) =>
    socket.write(`HTTP/1.1 ${status} No\r\n${headers}content-length: ${page.length}\r\n\r\n${page}`);

describe('a proxy that', () => {
  test.each<[string, (socket: Socket) => unknown, string, number?]>([
    ['says nothing', () => {}, TIMED_OUT, 400],
    ['drips its answer', repeat('HTTP/1.1 200 OK\r\nx-a: ', 'a', 5), TIMED_OUT, 400],
    ['answers without end', repeat('HTTP/1.1 200 OK\r\n', `x-a: ${'a'.repeat(500)}\r\n`, 1), FAILED],
    ['sends spaces without end', repeat('HTTP/1.1 200 OK\r\nx-a:', ' '.repeat(500), 1), FAILED],
    ['sends informational answers without end', repeat('', 'HTTP/1.1 103 Early Hints\r\n\r\n', 1), FAILED],
    ['refuses', (socket) => socket.write('HTTP/1.1 403 Forbidden\r\ncontent-length: 9\r\n\r\n'), REFUSED],
    ['refuses with a page of 10,000 bytes', refuseWith(403, 'a'.repeat(10_000)), UNUSABLE],
    ['asks for credentials with 64 KiB', refuseWith(407, 'a'.repeat(65_536)), UNUSABLE],
    ['refuses with a head of 1,500 lines', refuseWith(403, '', 'x-a: b\r\n'.repeat(1_500)), UNUSABLE],
    ['opens the tunnel with a head of 1,500 lines', refuseWith(200, '', 'x-a: b\r\n'.repeat(1_500)), UNUSABLE],
    ['opens the tunnel and sends 64 KiB', (socket) => socket.write(OPEN + 'a'.repeat(65_536)), FAILED],
    ['continues 1,000 times', (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000)), UNUSABLE],
    ['closes', (socket) => socket.end(), FAILED],
    ['resets', (socket) => socket.resetAndDestroy(), FAILED],
    ['speaks another protocol', (socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'), FAILED],
    ['speaks first in the tunnel', (socket) => socket.write(`${OPEN}hello`), FAILED],
  ])('%s keeps no connection after the attempt', async (_, serve, error, timeoutMs) => {
    const proxy = await startProxy(serve);
    expect(await deliver(createSender(proxy.url, timeoutMs))).toMatchObject({ statusCode: null, error });
    await expect.poll(() => proxy.sockets.size).toBe(0);
  });

  test('says nothing is left when the attempt is aborted', async () => {
    const proxy = await startProxy(() => {});
    const stop = new AbortController();
    const sent = deliver(createSender(proxy.url), stop.signal);
    await expect.poll(() => proxy.sockets.size).toBe(1);
    stop.abort();
    expect(await sent).toMatchObject({ error: 'Usher ended the attempt' });
    await expect.poll(() => proxy.sockets.size).toBe(0);
  });
});

test('attempts to an endpoint share a tunnel, which the credentials of the proxy open', async () => {
  let requests = 0;
  const endpoint = createHttpsServer(certificate, (_, response) => {
    requests++;
    response.end('ok');
  });
  const heads: string[] = [];
  const openTunnel = tunnelTo(await listen(endpoint));
  const proxy = await startProxy((socket, head) => {
    heads.push(head);
    openTunnel(socket);
  });
  const sender = createSender(proxy.url);
  for (let round = 0; round < 3; round++) {
    expect(await deliver(sender)).toMatchObject({ statusCode: 200, responseBody: 'ok' });
  }
  const basic = Buffer.from('us er:p@ss').toString('base64');
  expect(requests).toBe(3);
  expect(heads).toEqual([expect.stringMatching(/^CONNECT localhost:4443 HTTP\/1\.1\r\nhost: localhost:4443\r\n/i)]);
  expect(heads[0]).toContain(`\r\nproxy-authorization: Basic ${basic}\r\n`);
});

test('a proxy that opens the tunnel byte by byte costs no more than its bytes', async () => {
  const endpoint = createHttpsServer(certificate, (_, response) => response.end('ok'));
  const port = await listen(endpoint);
  const proxy = await startProxy((socket) => {
    const left = [...OPEN];
    const timer = setInterval(() => {
      socket.write(left.shift() ?? '');
      if (left.length > 0) return;
      clearInterval(timer);
      const through = connect(port, '127.0.0.1').on('error', () => socket.destroy());
      socket.pipe(through).pipe(socket);
    }, 5);
  });
  expect(await deliver(createSender(proxy.url))).toMatchObject({ statusCode: 200, responseBody: 'ok' });
});

test('an endpoint that renegotiates for ever behind a proxy does not send valid HTTP', async () => {
  const server = createTlsServer({ ...certificate, maxVersion: 'TLSv1.2' }, (socket) => {
    const renegotiate = () => !socket.destroyed && socket.renegotiate({}, renegotiate);
    socket.on('error', () => {}).resume();
    renegotiate();
  });
  const proxy = await startProxy(tunnelTo(await listen(server)));
  expect(await deliver(createSender(proxy.url))).toMatchObject({ error: NOT_HTTP });
  await expect.poll(() => proxy.sockets.size).toBe(0);
});
