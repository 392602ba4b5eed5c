/** HTTP servers of tests, on this machine. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a free port, and returns the origin. */
export async function listenOnLoopback(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server has an AddressInfo.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Closes the server and its connections, so that connections are refused. */
export async function stopServer(server: Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
