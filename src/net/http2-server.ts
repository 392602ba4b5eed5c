/** The half of the listener that speaks HTTP/2. */
import { constants, createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { NodeResponse } from './exchange.ts';

/** Node keeps to it by itself over HTTP/1.1 only. */
export const MAX_HEADER_BYTES = 16_384;

const OPTIONS = {
  settings: { maxConcurrentStreams: 250, maxHeaderListSize: MAX_HEADER_BYTES, enablePush: false },
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

/** Once the reply is out, a client that goes on sending its request over HTTP/2 is told to stop. */
export function endUnreadStream(response: NodeResponse): void {
  if (!('stream' in response)) return;
  const { stream } = response;
  // The last of a reply are its trailers, which Node sends in answer to the same event.
  stream.once('wantTrailers', () => {
    if (!stream.readableEnded) setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
  });
}
