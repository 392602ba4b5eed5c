/** Every connection there is. Nobody may hold one for nothing. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ConnectionQuota } from './request-scheduler.ts';

/** How long a client may keep us waiting: for its first request, for the rest of one, for taking a reply. */
export const PATIENCE_MS = 7_000;
/** How long a connection may be of no use between requests. */
const KEEP_ALIVE_MS = 60_000;
/** As many connections may lie idle for that long; with more, all of them have no longer than anyone else. */
const MAX_UNCROWDED = 256;
/** What is announced to clients is less by this, so that they are not the ones who are late. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

export const SWEEP_MS = 500;

/** How many requests may be under way on one connection. */
export const MAX_REQUESTS = 100;

/** How a connection is used. Its protocol says when it is, and adds who else keeps us waiting on it. */
export class Connection implements ConnectionQuota {
  turn = 0;
  begunInTurn = 0;
  #requests = 0;
  #idleSince = performance.now();
  #hasAsked = false;
  #waitedSweeps = 0;
  readonly socket: Socket;
  /**
   * Over HTTP/1.1, those that are not out yet, oldest first. One list per connection: a Set of all of
   * them makes a new table every few requests, and of tables that have grown old each keeps the next
   * from being collected, with all that is in it.
   */
  readonly replies: ServerResponse[] = [];
  /** Over HTTP/1.1, whether the request that came last was answered before all of it had come. */
  isAnsweredEarly = false;
  /** Ends it without harm to what is under way. */
  end: () => void;
  /** What else there is to look after at every sweep. */
  onSweep = (): void => {};

  constructor(socket: Socket) {
    this.socket = socket;
    this.end = () => socket.destroy();
  }

  get isIdle(): boolean {
    return this.#requests === 0;
  }

  get isFull(): boolean {
    return this.#requests >= MAX_REQUESTS;
  }

  /** A request has come, head and all. */
  begin(): void {
    this.#requests++;
    this.#hasAsked = true;
  }

  /** It has been answered, or is gone. One whose client has kept us waiting has been of no use. */
  finish({ wasOfUse = true } = {}): void {
    this.#requests--;
    if (wasOfUse) this.#idleSince = performance.now();
  }

  /** Ends it with whatever has not been sent. */
  reset(): void {
    // Only a plain socket can be reset: over TLS that throws.
    if (this.socket instanceof TLSSocket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }

  sweep(now: number, keepAliveMs: number): void {
    // Bytes that the kernel does not take, sweep after sweep: the client does not read.
    this.#waitedSweeps = this.socket.writableLength > 0 ? this.#waitedSweeps + 1 : 0;
    const idleMs = this.isIdle ? now - this.#idleSince : 0;
    if (this.#waitedSweeps * SWEEP_MS >= PATIENCE_MS) this.reset();
    // One that has not gone when it was ended has had its chance.
    else if (idleMs > keepAliveMs + PATIENCE_MS) this.socket.destroy();
    else if (idleMs >= (this.#hasAsked ? keepAliveMs : PATIENCE_MS)) this.end();
    else this.onSweep();
  }
}

export class Connections {
  readonly #all = new Set<Connection>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  #crowdedUntil = 0;

  add(socket: Socket): Connection {
    const connection = new Connection(socket);
    this.#all.add(connection);
    this.#bySocket.set(socket, connection);
    socket.once('close', () => this.#all.delete(connection));
    return connection;
  }

  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /**
   * Takes a request over HTTP/1.1 with the reply it is to get, and returns true; or ends its connection,
   * where nobody who means well would wait for so many.
   */
  begin(socket: Socket, reply: ServerResponse): boolean {
    const connection = this.#bySocket.get(socket);
    if (!connection || connection.isFull) {
      socket.destroy();
      return false;
    }
    connection.begin();
    connection.replies.push(reply);
    connection.isAnsweredEarly = false;
    reply.once('close', () => {
      connection.isAnsweredEarly = !reply.req.complete;
      connection.finish();
      connection.replies.splice(connection.replies.indexOf(reply), 1);
    });
    return true;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#all.values();
  }

  /** To be called every SWEEP_MS. Returns the keep-alive timeout to announce, in milliseconds. */
  sweep(): number {
    const now = performance.now();
    // Once they are too many, all that are idle go: not only as many as are too many.
    if (this.#all.size > MAX_UNCROWDED) this.#crowdedUntil = now + KEEP_ALIVE_MS;
    const keepAliveMs = now < this.#crowdedUntil ? PATIENCE_MS : KEEP_ALIVE_MS;
    for (const connection of this.#all) connection.sweep(now, keepAliveMs);
    return keepAliveMs - KEEP_ALIVE_MARGIN_MS;
  }
}
