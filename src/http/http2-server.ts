/** The half of the listener that speaks HTTP/2. */
import {
  constants,
  createServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { BlockList, Socket } from 'node:net';
import { type Connection, MAX_REQUESTS, PATIENCE_MS, SWEEP_MS } from './connections.ts';
import {
  createRequestContext,
  hasValidAuthority,
  headerBytesOf,
  MAX_HEADER_BYTES,
  type StreamHandler,
} from './http-context.ts';
import type { RequestScheduler } from './request-scheduler.ts';

const OPTIONS = {
  // Headers beyond this limit are a reset; those between it and ours get an answer.
  settings: { maxConcurrentStreams: MAX_REQUESTS, maxHeaderListSize: 4 * MAX_HEADER_BYTES, enablePush: false },
  maxSessionMemory: 10,
  // A client may give up all its streams at once, and then some every second; more ends the connection.
  streamResetBurst: MAX_REQUESTS,
  streamResetRate: 33,
  maxSessionInvalidFrames: 100,
};

export interface Http2Side {
  readonly server: Http2Server;
  readonly sessions: ReadonlyMap<Http2Session, Connection>;
  /** When streams that have been passed on had come. */
  readonly arrivals: WeakMap<ServerHttp2Stream, number>;
  /** Takes over a connection that speaks HTTP/2. */
  accept(socket: Socket, connection: Connection): void;
}

/** A server that others bring its connections to, and the sessions it has. */
export function createHttp2Server(): Http2Side {
  const server = createServer(OPTIONS);
  const sessions = new Map<Http2Session, Connection>();
  let arriving: Connection | undefined;
  server.on('session', (session) => {
    session.on('error', () => session.destroy());
    if (!arriving) return;
    sessions.set(session, arriving);
    session.once('close', () => sessions.delete(session));
    watch(session, arriving);
  });
  server.on('sessionError', () => {});
  return {
    server,
    sessions,
    arrivals: new WeakMap(),
    accept(socket, connection) {
      // Else a client that leaves would go unnoticed: the HTTP/1.1 server lets its sockets be half open.
      socket.allowHalfOpen = false;
      arriving = connection;
      server.emit('connection', socket);
    },
  };
}

/** Ends streams that wait too long for their client: to send its request, or to take the reply. */
function watch(session: ServerHttp2Session, connection: Connection): void {
  const watched: { readonly stream: ServerHttp2Stream; waitedSweeps: number; isEnded: boolean }[] = [];
  session.on('stream', (stream) => {
    const entry = { stream, waitedSweeps: 0, isEnded: false };
    watched.push(entry);
    connection.begin();
    stream.once('close', () => {
      watched.splice(watched.indexOf(entry), 1);
      connection.finish({ wasOfUse: entry.waitedSweeps === 0 });
    });
  });
  connection.end = () => session.close();
  connection.onSweep = () => {
    for (const entry of watched) {
      const { stream } = entry;
      // Not even its end has been sent since the last sweep: the client reads nothing at all.
      if (entry.isEnded) return connection.reset();
      const isWaiting = stream.writableLength > 0 || stream.state.remoteClose === 0;
      entry.waitedSweeps = isWaiting ? entry.waitedSweeps + 1 : 0;
      if (entry.waitedSweeps * SWEEP_MS < PATIENCE_MS) continue;
      if (stream.closed) {
        // It is over, but for the rest of its request, which nobody reads any more.
        stream.destroy();
        continue;
      }
      entry.isEnded = true;
      stream.close(constants.NGHTTP2_CANCEL);
      session.close();
    }
  };
}

/**
 * Once the reply is out, a client that goes on sending its request is told to stop. The last of a
 * reply are its trailers, sent in answer to the event that this waits for: listen to it first.
 */
export function endUnreadStream(stream: ServerHttp2Stream): void {
  stream.once('wantTrailers', () => {
    if (!stream.readableEnded) setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
  });
}

/** Offers every stream to the handler first; what it does not take becomes a Node request, as usual. */
export function offerStreams(
  { server, sessions, arrivals }: Http2Side,
  handleStream: StreamHandler,
  { turns, trustedProxies }: { turns: RequestScheduler; trustedProxies: BlockList },
): void {
  const becomeRequest = server.listeners('stream');
  server.removeAllListeners('stream');
  server.on('stream', (stream: ServerHttp2Stream, headers, flags, rawHeaders) => {
    stream.on('error', () => {});
    const connection = stream.session && sessions.get(stream.session);
    const receivedAt = performance.now();
    if (connection) turns.take(() => offer(receivedAt, stream, headers, flags, rawHeaders), connection);
  });

  const offer = (receivedAt: number, ...[stream, headers, flags, rawHeaders]: StreamEvent) => {
    // Who opens streams only to reset them gets no work done for it.
    if (stream.closed) return;
    const fallThrough = () => {
      // It may have been given up since it was offered.
      if (stream.closed) return;
      arrivals.set(stream, receivedAt);
      for (const listener of becomeRequest) listener.call(server, stream, headers, flags, rawHeaders);
    };
    const isValid = headerBytesOf(rawHeaders) <= MAX_HEADER_BYTES && hasValidAuthority(headers, rawHeaders);
    const context = createRequestContext(headers, stream.session?.socket.remoteAddress, { trustedProxies, receivedAt });
    if (!isValid || !handleStream({ stream, path: headers[':path'] ?? '', fallThrough, ...context })) fallThrough();
  };
}

type StreamEvent = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: readonly string[],
];
