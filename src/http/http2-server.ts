/** The HTTP/2 server, whose connections the HTTP/1.1 server accepts. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  constants,
  createServer,
  type Http2ServerRequest,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import {
  CLIENT_TIMEOUT_MS,
  type HttpConnection,
  MAX_REQUESTS_PER_CONNECTION,
  SWEEP_INTERVAL_MS,
} from './connections.ts';
import { createStreamContext, discardBody, type Origin } from './exchange.ts';
import type { StreamHandler } from './http-context.ts';
import { joinChunks } from './join-chunks.ts';
import { findHeadProblem, MAX_HEADER_BYTES } from './request-head.ts';
import type { RequestScheduler } from './request-scheduler.ts';

/**
 * Limits the open HTTP/2 streams of the process. A client opens a stream with some 100 bytes and need not end its
 * request. A stream takes 3 to 25 KB of memory, most of it for headers.
 *
 * A connection may have as many open streams as are free in the process. While most are free, this limits nobody. When
 * few are free, connections with many streams get no more, so the free ones remain for other connections.
 */
const MAX_STREAMS = 12_800;
/** Repeating a header costs a client one byte, and Usher some 200. */
const HEADERS_PER_STREAM = 16;
/** A connection may have this many even if none are free. */
const MIN_PER_CONNECTION = 2;

class StreamLimit {
  #open = 0;
  readonly #maxPerConnection: number;
  readonly #lowered = new WeakSet<Http2Session>();

  constructor(maxPerConnection: number) {
    this.#maxPerConnection = maxPerConnection;
  }

  /** Counts a stream until it is closed. A stream with many headers counts as several. */
  count(stream: ServerHttp2Stream, rawHeaders: readonly string[]): void {
    const weight = Math.max(1, rawHeaders.length / 2 / HEADERS_PER_STREAM);
    this.#open += weight;
    stream.once('close', () => {
      this.#open -= weight;
    });
  }

  /**
   * If few streams are free, limits a new connection at once: many streams may arrive before Node reports the first.
   */
  open(session: ServerHttp2Session): void {
    if (this.#free < this.#maxPerConnection) this.#lower(session);
  }

  /** If the connection has too many streams, refuses this one with a code that lets clients retry, and returns true. */
  refuse(stream: ServerHttp2Stream, ofConnection: number): boolean {
    if (ofConnection <= this.#free || !stream.session) return false;
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    // With the setting, nghttp2 refuses further streams itself. That takes less memory: Node frees a closed stream
    // late.
    this.#lower(stream.session);
    return true;
  }

  restore(session: ServerHttp2Session): void {
    if (this.#free < this.#maxPerConnection || session.destroyed || !this.#lowered.delete(session)) return;
    session.settings({ maxConcurrentStreams: this.#maxPerConnection });
  }

  get #free(): number {
    return Math.max(MIN_PER_CONNECTION, MAX_STREAMS - this.#open);
  }

  #lower(session: Http2Session): void {
    if (session.destroyed || this.#lowered.has(session)) return;
    this.#lowered.add(session);
    session.settings({ maxConcurrentStreams: this.#free });
  }
}

const OPTIONS = {
  // nghttp2 resets a stream whose headers exceed `maxHeaderListSize`. With a higher value than MAX_HEADER_BYTES, Usher
  // can answer most streams with too large headers.
  settings: {
    maxConcurrentStreams: MAX_REQUESTS_PER_CONNECTION,
    maxHeaderListSize: 4 * MAX_HEADER_BYTES,
    enablePush: false,
  },
  maxSessionMemory: 10,
  // A client may reset all its streams at once, and then 33 a second. If it resets more, Node closes the connection.
  streamResetBurst: MAX_REQUESTS_PER_CONNECTION,
  streamResetRate: 33,
  maxSessionInvalidFrames: 100,
};

/** How long the end of a refused request is waited for. */
const REFUSED_MS = 100;

/** The only event that Node emits before the first chunk of a stream. */
const STREAM_CREATED = 'http2.server.stream.created';

type Http2Server = ReturnType<typeof createHttp2Server>;

/** Creates a server that does not listen: it serves the connections that `accept` gets. */
export function createHttp2Server() {
  const server = createServer(OPTIONS);
  const sessions = new Map<Http2Session, HttpConnection>();
  const limit = new StreamLimit(MAX_REQUESTS_PER_CONNECTION);
  let accepted: HttpConnection | undefined;
  server.on('session', (session) => {
    session.on('error', () => session.destroy());
    if (!accepted) return;
    sessions.set(session, accepted);
    session.once('close', () => sessions.delete(session));
    limit.open(session);
    watchStreams(session, accepted, limit);
  });
  server.on('sessionError', () => {});
  // Node emits `stream` only after it has given the stream all data that came with its head.
  const onCreated = (message: unknown) => {
    const { stream } = message as { readonly stream: ServerHttp2Stream };
    if (!stream.session || !sessions.has(stream.session)) return;
    stream.on('error', () => {});
    joinChunks(stream);
  };
  subscribe(STREAM_CREATED, onCreated);
  return {
    server,
    close: () => unsubscribe(STREAM_CREATED, onCreated),
    sessions,
    limit,
    /** When each stream that Node wraps in a request object arrived, in milliseconds of `performance.now()`. */
    receivedAt: new WeakMap<ServerHttp2Stream, number>(),
    /** Begins to serve HTTP/2 on a connection. */
    accept(socket: Socket, connection: HttpConnection) {
      // The HTTP/1.1 server allows half-open sockets, on which Node's HTTP/2 does not notice that a client leaves.
      socket.allowHalfOpen = false;
      accepted = connection;
      server.emit('connection', socket);
    },
  };
}

/** Ends streams whose client takes too long to send the request or to read the response. */
function watchStreams(session: ServerHttp2Session, connection: HttpConnection, limit: StreamLimit): void {
  const watched: { readonly stream: ServerHttp2Stream; stalledSweeps: number; isEnded: boolean }[] = [];
  session.on('stream', (stream, _headers, _flags, rawHeaders) => {
    const entry = { stream, stalledSweeps: 0, isEnded: false };
    watched.push(entry);
    connection.startRequest();
    limit.count(stream, rawHeaders);
    stream.once('close', () => {
      watched.splice(watched.indexOf(entry), 1);
      connection.finishRequest({ hasStalled: entry.stalledSweeps > 0 });
    });
  });
  connection.end = () => session.close();
  connection.onSweep = () => {
    limit.restore(session);
    for (const entry of watched) {
      const { stream } = entry;
      // The stream's reset is still unsent since the last sweep, so the client does not read.
      if (entry.isEnded) return connection.reset();
      const isStalled = stream.writableLength > 0 || stream.state.remoteClose === 0;
      entry.stalledSweeps = isStalled ? entry.stalledSweeps + 1 : 0;
      if (entry.stalledSweeps * SWEEP_INTERVAL_MS < CLIENT_TIMEOUT_MS) continue;
      if (stream.closed) {
        // The response is complete, and nothing reads the rest of the request.
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
 * Stops a client that keeps sending its request after the response. The listener for `wantTrailers` that sends the
 * trailers, and so ends the response, must be added before this one.
 */
export function endUnreadStream(stream: ServerHttp2Stream, request: Readable = stream): void {
  stream.once('wantTrailers', () => {
    if (stream.readableEnded || stream.endAfterHeaders) return;
    // An immediate reset could close the connection: while a reset is unsent, nghttp2 ignores the end of the request
    // and counts the stream as open. The client counts it as closed, so its next stream would exceed the limit.
    discardBody(request, () => {
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
    });
  });
}

/**
 * Ends the rest of a request whose answer is sent at once, without trailers. Nothing else is kept of it: a crowd of refused
 * streams must not take the memory that the streams have that are served.
 */
export function endRefusedStream(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.endAfterHeaders) return;
  // As above, the end of the request may be on its way.
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), REFUSED_MS);
  stream.once('close', () => clearTimeout(timer)).resume();
}

/**
 * Ends the request object of a stream with an empty body. Such a stream emits `end` while it waits in the scheduler,
 * before Node creates the request object, which therefore misses the event.
 */
export function endEmptyRequest(request: Http2ServerRequest): void {
  if (request.stream.readableEnded && !request.readableEnded) request.push(null);
}

/** Offers every stream to the handler. If the handler declines, Node wraps the stream in a request object, as usual. */
export function serveStreams(
  { server, sessions, limit, receivedAt }: Http2Server,
  handleStream: StreamHandler,
  { scheduler, origin }: { scheduler: RequestScheduler; origin: Omit<Origin, 'receivedAt'> },
): void {
  const wrapStream = server.listeners('stream');
  server.removeAllListeners('stream');
  server.on('stream', (...event: StreamEvent) => {
    const [stream] = event;
    const connection = stream.session && sessions.get(stream.session);
    if (!connection || limit.refuse(stream, connection.requests)) return;
    const now = performance.now();
    scheduler.run(() => serve(now, event), connection);
  });

  const serve = (now: number, event: StreamEvent) => {
    const [stream, headers, , rawHeaders] = event;
    // The client has reset the stream while it waited in the scheduler.
    if (stream.closed) return;
    const isValid = findHeadProblem(headers, rawHeaders) === undefined;
    if (isValid && handleStream(createStreamContext(stream, headers, { ...origin, receivedAt: now }))) return;
    receivedAt.set(stream, now);
    for (const listener of wrapStream) listener.call(server, ...event);
  };
}

type StreamEvent = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: readonly string[],
];
