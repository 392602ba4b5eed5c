/** Limits open requests that need no credential, because callers may keep them open as long as they like. */
import type { HttpContext } from '../../http/http-context.ts';

const MAX_PER_CONNECTION = 10;
const MAX_PER_PROCESS = 1_000;
/** For second and further streams. The other half is reserved for first streams: most connections open only one. */
const MAX_FURTHER = MAX_PER_PROCESS / 2;

export class StreamLimits {
  #open = 0;
  readonly #byConnection = new WeakMap<object, number>();

  /** Returns false if too many streams are open. Otherwise counts the stream until it ends, and returns true. */
  admit(context: HttpContext): boolean {
    const { request, response } = context;
    const connection = ('stream' in response && response.stream.session) || request.socket;
    const ofConnection = this.#byConnection.get(connection) ?? 0;
    const limit = ofConnection === 0 ? MAX_PER_PROCESS : MAX_FURTHER;
    if (ofConnection >= MAX_PER_CONNECTION || this.#open >= limit) return false;
    this.#count(connection, 1);
    context.onClose(() => this.#count(connection, -1));
    return true;
  }

  #count(connection: object, change: 1 | -1): void {
    this.#open += change;
    this.#byConnection.set(connection, (this.#byConnection.get(connection) ?? 0) + change);
  }
}
