import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ConnectionFailedError } from './errors.ts';
import { type DatabaseServer, socketOf } from './open-client.ts';

/** How long a host may take to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Returns a socket that is about to connect. Pass it to `awaitConnected`. */
export function startSocket(server: DatabaseServer): Socket {
  const path = socketOf(server);
  const socket = path ? connect(path) : connect(server);
  // postgres.js looks here for the name of the TLS server.
  return Object.assign(socket, server);
}

/** @throws ConnectionFailedError, or what Node says of the host */
export async function awaitConnected(socket: Socket): Promise<Socket> {
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return socket;
  } catch (error) {
    socket.destroy();
    const isLate = error instanceof Error && error.name === 'AbortError';
    throw isLate ? new ConnectionFailedError('No connection in time') : error;
  }
}
