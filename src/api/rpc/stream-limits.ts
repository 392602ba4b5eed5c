/** Limits open requests that need no credential, because callers may keep them open as long as they like. */
import { constants } from 'node:http2';
import type { HttpContext, StreamContext } from '../../http/http-context.ts';

const MAX_PER_CONNECTION = 10;
const MAX_PER_PROCESS = 1_000;
/** For second and further streams. The other half is reserved for first streams: most connections open only one. */
const MAX_FURTHER = MAX_PER_PROCESS / 2;

export class StreamLimits {
  #open = 0;
  readonly #byConnection = new WeakMap<object, number>();

  /**
   * Resets a stream that would be refused, unless its request is complete, and returns true. Only while many streams are
   * open: the client gets no reason, but a code that lets it retry. Half of a refused request takes more memory than the
   * reset, until its end comes.
   */
  reset({ stream }: StreamContext): boolean {
    const { session } = stream;
    if (this.#open < MAX_FURTHER || !session || this.#isFree(session) || stream.state.remoteClose === 1) return false;
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return true;
  }

  /** Returns false if too many streams are open. Otherwise counts the stream until it ends, and returns true. */
  admit(context: HttpContext): boolean {
    const { request, response } = context;
    const connection = ('stream' in response && response.stream.session) || request.socket;
    if (!this.#isFree(connection)) return false;
    this.#count(connection, 1);
    context.onClose(() => this.#count(connection, -1));
    return true;
  }

  #isFree(connection: object): boolean {
    const ofConnection = this.#byConnection.get(connection) ?? 0;
    const limit = ofConnection === 0 ? MAX_PER_PROCESS : MAX_FURTHER;
    return ofConnection < MAX_PER_CONNECTION && this.#open < limit;
  }

  #count(connection: object, change: 1 | -1): void {
    this.#open += change;
    this.#byConnection.set(connection, (this.#byConnection.get(connection) ?? 0) + change);
  }
}
