/** The half of the listener that speaks HTTP/2. */
import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { BlockList } from 'node:net';
import { hasValidAuthority, headerBytesOf, originOf, type StreamHandler } from './exchange.ts';

/** Node keeps to it by itself over HTTP/1.1 only. */
export const MAX_HEADER_BYTES = 16_384;

const OPTIONS = {
  // Headers beyond this limit are a reset; those between it and ours get an answer.
  settings: { maxConcurrentStreams: 250, maxHeaderListSize: 4 * MAX_HEADER_BYTES, enablePush: false },
  maxSessionMemory: 10,
};

/** A server that others bring its connections to, and the sessions it has. */
export function createHttp2Server(keepAliveTimeoutMs: number): {
  server: Http2Server;
  sessions: Set<ServerHttp2Session>;
} {
  const server = createServer(OPTIONS);
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.on('error', () => session.destroy());
    session.setTimeout(keepAliveTimeoutMs, () => session.close());
  });
  server.on('sessionError', () => {});
  return { server, sessions };
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
export function offerStreams(http2: Http2Server, handleStream: StreamHandler, trustedProxies: BlockList): void {
  const becomeRequest = http2.listeners('stream');
  http2.removeAllListeners('stream');
  http2.on('stream', (stream: ServerHttp2Stream, headers, flags, rawHeaders) => {
    const passOn = () => {
      for (const listener of becomeRequest) listener.call(http2, stream, headers, flags, rawHeaders);
    };
    const isSound = headerBytesOf(rawHeaders) <= MAX_HEADER_BYTES && hasValidAuthority(headers, rawHeaders);
    const origin = originOf(headers, stream.session?.socket.remoteAddress, trustedProxies);
    if (!isSound || !handleStream({ stream, path: headers[':path'] ?? '', passOn, ...origin })) passOn();
  });
}
