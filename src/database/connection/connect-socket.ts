import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ConnectionFailedError } from '../sql/errors.ts';
import { type DatabaseServer, socketOf } from './open-client.ts';

/** How long a host may take to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Returns a socket that is connecting. Pass it to `awaitConnected`, which waits until it is connected. */
export function startSocket(server: DatabaseServer): Socket {
  const path = socketOf(server);
  const socket = path ? connect(path) : connect(server);
  // postgres.js reads the server name for TLS from the socket.
  return Object.assign(socket, server);
}

/** @throws ConnectionFailedError after a timeout, or the error of Node, such as ECONNREFUSED */
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
