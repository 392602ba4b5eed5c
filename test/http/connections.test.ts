/** A client that does not take what is sent to it is let go, whatever the connection is made of. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { Connection, PATIENCE_MS, SWEEP_MS } from '../../src/http/connections.ts';
import { createCertificate } from '../support/certificate.ts';

/** More than the buffers of both sides hold. */
const MUCH = Buffer.alloc(32 * 1024 * 1024);
const KEEP_ALIVE_MS = 60_000;
const SWEEPS = PATIENCE_MS / SWEEP_MS;

test.each(['cleartext', 'TLS'])('over %s, after so many sweeps and no sooner', async (kind) => {
  const socket = await (kind === 'TLS' ? openTls() : openCleartext());
  const connection = new Connection(socket);
  connection.begin();
  socket.write(MUCH);
  for (let sweep = 1; sweep < SWEEPS; sweep++) connection.sweep(performance.now(), KEEP_ALIVE_MS);
  expect(socket.destroyed).toBe(false);
  connection.sweep(performance.now(), KEEP_ALIVE_MS);
  expect(socket.destroyed).toBe(true);
  await once(socket, 'close');
});

/** The service's end of a connection whose client does not read. */
async function openCleartext(): Promise<Socket> {
  const server = createServer();
  const port = await listen(server);
  const accepted = once(server, 'connection');
  endLater(connect({ port, host: '127.0.0.1' }).pause());
  return endLater((await accepted)[0]);
}

async function openTls(): Promise<Socket> {
  const server = createTlsServer(await createCertificate());
  const port = await listen(server);
  const accepted = once(server, 'secureConnection');
  endLater(connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }).pause());
  return endLater((await accepted)[0]);
}

async function listen(server: Server): Promise<number> {
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

function endLater(socket: Socket): Socket {
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}
