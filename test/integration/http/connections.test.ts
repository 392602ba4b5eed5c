import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import {
  CLIENT_TIMEOUT_MS,
  HttpConnection,
  HttpConnections,
  SWEEP_INTERVAL_MS,
} from '../../../src/http/connections.ts';
import { createCertificate } from '../../support/certificate.ts';
import { serveListener } from './serve-listener.ts';

/** More than the buffers of both sides hold. */
const LARGE_REPLY = Buffer.alloc(32 * 1024 * 1024);
const KEEP_ALIVE_MS = 75_000;
const SWEEPS = CLIENT_TIMEOUT_MS / SWEEP_INTERVAL_MS;

test.each(['cleartext', 'TLS'])('a client that reads nothing for 7 s is disconnected over %s', async (kind) => {
  const socket = await (kind === 'TLS' ? openTls() : openCleartext());
  const connection = new HttpConnection(socket);
  connection.startRequest();
  socket.write(LARGE_REPLY);
  for (let sweep = 1; sweep < SWEEPS; sweep++) connection.sweep(performance.now(), KEEP_ALIVE_MS);
  expect(socket.destroyed).toBe(false);
  connection.sweep(performance.now(), KEEP_ALIVE_MS);
  expect(socket.destroyed).toBe(true);
  await once(socket, 'close');
});

test('keeps 300 idle connections for the keep-alive timeout', async () => {
  const connections = new HttpConnections(KEEP_ALIVE_MS, 2_048);
  const sockets = await openConnections(300);
  for (const socket of sockets) use(connections.add(socket));
  connections.sweep(performance.now() + KEEP_ALIVE_MS - 1_000);
  expect(countOpen(sockets)).toBe(300);
  connections.sweep(performance.now() + KEEP_ALIVE_MS);
  expect(countOpen(sockets)).toBe(0);
});

test('closes no more idle connections early than exceed the limit, those that are idle longest first', async () => {
  const connections = new HttpConnections(KEEP_ALIVE_MS, 3);
  const sockets = await openConnections(6);
  const [busy] = sockets.map((socket) => use(connections.add(socket)));
  busy?.startRequest();
  connections.sweep(performance.now() + CLIENT_TIMEOUT_MS);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, true, true, false, false]);
});

test('closes no connection early that has just been in use', async () => {
  const connections = new HttpConnections(KEEP_ALIVE_MS, 1);
  const sockets = await openConnections(3);
  for (const socket of sockets) use(connections.add(socket));
  connections.sweep(performance.now() + CLIENT_TIMEOUT_MS - 1_000);
  expect(countOpen(sockets)).toBe(3);
});

test('drops an idle connection that stays open after it was closed gracefully', async () => {
  const connections = new HttpConnections(KEEP_ALIVE_MS, 1);
  const sockets = await openConnections(1);
  for (const socket of sockets) use(connections.add(socket)).end = () => {};
  const now = performance.now() + KEEP_ALIVE_MS;
  connections.sweep(now);
  connections.sweep(now + CLIENT_TIMEOUT_MS);
  expect(countOpen(sockets)).toBe(1);
  connections.sweep(now + CLIENT_TIMEOUT_MS + SWEEP_INTERVAL_MS);
  expect(countOpen(sockets)).toBe(0);
});

test('announces a keep-alive timeout that is a second shorter, with 300 connections, too', async () => {
  await using server = await serveListener(({ response }) => void response.end());
  const announced = new Set<string | undefined>();
  for (let index = 0; index < 300; index++) {
    const client = closeLater(connect({ port: server.port, host: '127.0.0.1' }));
    client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [reply] = await once(client, 'data');
    announced.add(/^Keep-Alive: (.*)\r$/im.exec(String(reply))?.[1]);
  }
  expect([...announced]).toEqual(['timeout=74']);
});

/** Has the client send a request and get its reply. */
function use(connection: HttpConnection): HttpConnection {
  connection.startRequest();
  connection.finishRequest();
  return connection;
}

function countOpen(sockets: readonly Socket[]): number {
  return sockets.filter(({ destroyed }) => !destroyed).length;
}

/** Returns the server's end of a connection whose client does not read. */
async function openCleartext(): Promise<Socket> {
  const server = createServer();
  const port = await listen(server);
  const accepted = once(server, 'connection');
  closeLater(connect({ port, host: '127.0.0.1' }).pause());
  return closeLater((await accepted)[0]);
}

async function openTls(): Promise<Socket> {
  const server = createTlsServer(await createCertificate());
  const port = await listen(server);
  const accepted = once(server, 'secureConnection');
  closeLater(connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }).pause());
  return closeLater((await accepted)[0]);
}

async function listen(server: Server): Promise<number> {
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

function closeLater(socket: Socket): Socket {
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Listens on a free port, and returns as many of the server's ends of connections. */
async function openConnections(count: number): Promise<Socket[]> {
  const server = createServer();
  const port = await listen(server);
  const sockets: Socket[] = [];
  for (let index = 0; index < count; index++) {
    const accepted = once(server, 'connection');
    closeLater(connect({ port, host: '127.0.0.1' }));
    sockets.push(closeLater((await accepted)[0]));
  }
  return sockets;
}
