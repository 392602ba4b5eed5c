import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { CLIENT_TIMEOUT_MS, HttpConnection, SWEEP_INTERVAL_MS } from '../../src/http/connections.ts';
import { createCertificate } from '../support/certificate.ts';

/** More than the buffers of both sides hold. */
const LARGE_REPLY = Buffer.alloc(32 * 1024 * 1024);
const KEEP_ALIVE_MS = 60_000;
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
