/**
 * Limits the open HTTP/2 streams of the process. A client opens a stream with some 100 bytes and need not end its
 * request. A stream takes 3 to 25 KB of memory, most of it for headers.
 *
 * A connection may have as many open streams as are free in the process. While most are free, this limits nobody. When
 * few are free, connections with many streams get no more, so the free ones remain for other connections.
 */
import { constants, type Http2Session, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';

const MAX_STREAMS = 12_800;
/** Repeating a header costs a client one byte, and Usher some 200. */
const HEADERS_PER_STREAM = 16;
/** A connection may have this many even if none are free. */
const MIN_PER_CONNECTION = 2;

export class StreamLimit {
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
