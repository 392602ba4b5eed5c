import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Http2Server, Http2Session } from 'node:http2';
import { Server as NetServer, type Socket } from 'node:net';
import type { HttpConnections } from './connections.ts';

/** How long a shutdown waits for requests that clients sent before they noticed the shutdown. */
const CLOSING_GRACE_MS = 500;

interface Drained {
  readonly http1: Server;
  readonly http2: { readonly server: Http2Server; readonly sessions: ReadonlyMap<Http2Session, unknown> };
  readonly connections: HttpConnections;
  readonly sockets: {
    readonly all: ReadonlySet<Socket>;
    /** Those whose protocol is not yet known. */
    readonly undetected: ReadonlySet<Socket>;
  };
}

/** Accepts no more connections, waits for requests in flight, and closes the rest after `timeoutMs`. */
export async function drain({ http1, http2, connections, sockets }: Drained, timeoutMs: number): Promise<void> {
  const closed = once(http1, 'close');
  // The HTTP server's own `close` would also close idle connections at once, while a request may be on its way.
  NetServer.prototype.close.call(http1);
  for (const { responses } of connections) for (const response of responses) response.shouldKeepAlive = false;
  const { server, sessions } = http2;
  for (const session of sessions.keys()) session.close();
  // A connection that was accepted before may turn out to speak HTTP/2 only now.
  server.on('session', (session) => session.close());
  const grace = setTimeout(() => {
    const closeIdle = () => http1.closeIdleConnections();
    closeIdle();
    for (const { responses } of connections) for (const response of responses) response.once('close', closeIdle);
    for (const socket of sockets.undetected) socket.destroy();
  }, CLOSING_GRACE_MS);
  const timer = setTimeout(() => {
    for (const session of sessions.keys()) session.destroy();
    for (const socket of sockets.all) socket.destroy();
  }, timeoutMs);
  await closed;
  clearTimeout(grace);
  clearTimeout(timer);
  // Ends the timers of the HTTP server, too.
  http1.close();
}
