/**
 * Node keeps the streams of an HTTP/2 session in a Map. V8 links each table that a Map leaves behind to
 * the one that follows: as soon as one of them has grown old, all that follow it seem to be alive, with
 * every stream that was in them, until the next full collection. Clearing up after that takes an eighth
 * of the CPU time of a call. So a session gets a map of ours, whose tables know nothing of each other.
 */
import type { ServerHttp2Session } from 'node:http2';

/** What Node does with its map. */
interface StreamTable {
  readonly size: number;
  get(id: number): unknown;
  set(id: number, stream: unknown): unknown;
  delete(id: number): boolean;
  forEach(visit: (stream: unknown) => void): void;
}

export class StreamMap implements StreamTable {
  #size = 0;
  readonly #streams: Record<number, unknown> = Object.create(null);

  get size(): number {
    return this.#size;
  }

  get(id: number): unknown {
    return this.#streams[id];
  }

  set(id: number, stream: unknown): void {
    if (!(id in this.#streams)) this.#size++;
    this.#streams[id] = stream;
  }

  delete(id: number): boolean {
    if (!(id in this.#streams)) return false;
    this.#size--;
    return delete this.#streams[id];
  }

  forEach(visit: (stream: unknown) => void): void {
    for (const stream of Object.values(this.#streams)) visit(stream);
  }
}

/**
 * To be called before the session has streams. It reaches into Node: where Node is not as we know it,
 * the session stays as it is, and this returns false.
 */
export function replaceStreamMap(session: ServerHttp2Session): boolean {
  const symbol = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'state');
  const state: unknown = symbol && Reflect.get(session, symbol);
  if (!hasStreamTable(state) || state.streams.size > 0) return false;
  state.streams = new StreamMap();
  return true;
}

function hasStreamTable(state: unknown): state is { streams: StreamTable } {
  if (typeof state !== 'object' || state === null || !('streams' in state)) return false;
  const { streams } = state;
  return typeof streams === 'object' && streams !== null && 'forEach' in streams && 'size' in streams;
}
