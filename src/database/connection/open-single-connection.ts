import type { PostgresClient } from '../sql/driver.ts';
import { ConnectionFailedError } from '../sql/errors.ts';
import { awaitConnected, startSocket } from './connect-socket.ts';
import { type ClientTarget, type DatabaseServer, openClientOf } from './open-client.ts';

/**
 * Opens a client that never reconnects: once its connection is lost, every statement fails. By default postgres.js
 * reconnects, and would run and commit the rest of a transaction without its beginning. `begin` of postgres.js prevents
 * that, too, but ends the process when the connection is lost (porsager/postgres#1066, #1208).
 */
export function openSingleConnection(
  target: ClientTarget,
  options: Parameters<typeof openClientOf>[1],
  server: DatabaseServer,
): PostgresClient {
  let isOpened = false;
  const openSocket = () => {
    if (isOpened) {
      // Otherwise later statements would wait for ever.
      client.end({ timeout: 0 }).catch(() => {});
      throw new ConnectionFailedError('The connection was lost');
    }
    isOpened = true;
    return awaitConnected(startSocket(server));
  };
  // A variable, because the types of postgres.js lack `socket`.
  const single = { ...options, max: 1, socket: openSocket };
  const client = openClientOf(target, single, server);
  return client;
}
