import type postgres from 'postgres';
import { awaitConnected, startSocket } from './connect-socket.ts';
import { ConnectionFailedError } from './errors.ts';
import { type ClientTarget, type DatabaseServer, openClientOf } from './open-client.ts';

/**
 * Opens a client whose connection is never replaced: once it is lost, every statement fails. A client of postgres.js
 * reconnects by itself, and the rest of a transaction would run, and be committed, without its beginning. `begin` of
 * postgres.js prevents that, too, but ends the process when the connection is lost (porsager/postgres#1066, #1208).
 */
export function openSingleConnection(
  target: ClientTarget,
  options: Parameters<typeof openClientOf>[1],
  server: DatabaseServer,
): postgres.Sql {
  let isOpened = false;
  const openSocket = () => {
    if (isOpened) {
      // Otherwise statements that follow would wait for ever.
      client.end({ timeout: 0 }).catch(() => {});
      throw new ConnectionFailedError('The connection was lost');
    }
    isOpened = true;
    return awaitConnected(startSocket(server));
  };
  // The socket is not in the types of postgres.js.
  const single = { ...options, max: 1, socket: openSocket };
  const client = openClientOf(target, single, server);
  return client;
}
