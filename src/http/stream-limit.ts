/**
 * Limits how many HTTP/2 streams are open in the process. A client opens one in some 100 bytes and need not end its
 * request, while a stream takes 3 to 25 KB, most of it for headers.
 *
 * A connection may have as many streams as are free for all. So it has all that it may have while most are free, and
 * connections that have many leave the rest to those that have few.
 */
import { constants, type Http2Session, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';

const MAX_STREAMS = 12_800;
/** A header that a client has sent before costs it one byte, and us some 200. */
const HEADERS_PER_STREAM = 16;
/** A connection may have so many even if none are free. */
const MIN_PER_CONNECTION = 2;

export class StreamLimit {
  #open = 0;
  readonly #maxPerConnection: number;
  readonly #lowered = new WeakSet<Http2Session>();

  constructor(maxPerConnection: number) {
    this.#maxPerConnection = maxPerConnection;
  }

  /** Counts a stream until it is closed; one with many headers counts as several. */
  count(stream: ServerHttp2Stream, rawHeaders: readonly string[]): void {
    const weight = Math.max(1, rawHeaders.length / 2 / HEADERS_PER_STREAM);
    this.#open += weight;
    stream.once('close', () => {
      this.#open -= weight;
    });
  }

  /** Lowers what a new connection may have: its first streams may all come before the first of them is reported. */
  open(session: ServerHttp2Session): void {
    if (this.#free < this.#maxPerConnection) this.#lower(session);
  }

  /** Returns true if the connection has too many streams, and refuses this one so that clients may try it again. */
  refuse(stream: ServerHttp2Stream, ofConnection: number): boolean {
    if (ofConnection <= this.#free || !stream.session) return false;
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    // From now on nghttp2 refuses, for a small part of the memory: much has been read before a closed stream is freed.
    this.#lower(stream.session);
    return true;
  }

  /** Gives the connection back what `refuse` took, when enough is free. */
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
