/**
 * Preloaded into every server. It sends the benchmark each port that the server listens on, and stops the
 * server when the benchmark is gone. It is JavaScript: Node needs 20 MB more to load TypeScript outside of the compile cache.
 */
import { subscribe } from 'node:diagnostics_channel';
import { Server } from 'node:net';

subscribe('tracing:net.server.listen:asyncEnd', (message) => {
  const server = typeof message === 'object' && message !== null && 'server' in message ? message.server : undefined;
  const address = server instanceof Server ? server.address() : null;
  if (address !== null && typeof address === 'object') process.send?.({ port: address.port });
});
process.once('disconnect', () => process.exit(0));
