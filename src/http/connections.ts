/** Tracks open connections and closes idle or stalled ones. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ConnectionQuota } from './request-scheduler.ts';

/** How long a client may take to send its first request, to complete a request, and to read a response. */
export const CLIENT_TIMEOUT_MS = 7_000;
/** How long a connection may be idle between requests. */
const KEEP_ALIVE_MS = 60_000;
/** While there are more connections than this, idle ones are closed after `CLIENT_TIMEOUT_MS`. */
const IDLE_LIMIT = 256;
/** Clients are told a timeout that is shorter by this, so that they do not send a request while Usher closes. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

export const SWEEP_INTERVAL_MS = 500;

export const MAX_REQUESTS_PER_CONNECTION = 100;

/** Tracks the use of a client's connection. The server of its protocol reports requests and adds its own checks. */
export class HttpConnection implements ConnectionQuota {
  iteration = 0;
  begunInIteration = 0;
  #requests = 0;
  #idleSince = performance.now();
  #hasSentRequest = false;
  #stalledSweeps = 0;
  readonly socket: Socket;
  /** HTTP/1.1: unfinished responses, oldest first. */
  readonly responses: ServerResponse[] = [];
  /** HTTP/1.1: whether the latest request was answered before its body was complete. */
  isAnsweredEarly = false;
  /** Closes the connection after the requests in flight. */
  end: () => void;
  /** The protocol's own checks at every sweep. */
  onSweep = (): void => {};

  constructor(socket: Socket) {
    this.socket = socket;
    this.end = () => socket.destroy();
  }

  get requests(): number {
    return this.#requests;
  }

  get isFull(): boolean {
    return this.#requests >= MAX_REQUESTS_PER_CONNECTION;
  }

  /** Counts a request whose head has arrived. */
  startRequest(): void {
    this.#requests++;
    this.#hasSentRequest = true;
  }

  /** Counts a request as finished. If the client stalled it, the idle time continues. */
  finishRequest({ hasStalled = false } = {}): void {
    this.#requests--;
    if (!hasStalled) this.#idleSince = performance.now();
  }

  /** Closes the connection at once, and drops unsent bytes. */
  reset(): void {
    // Over TLS `resetAndDestroy` throws.
    if (this.socket instanceof TLSSocket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }

  sweep(now: number, keepAliveMs: number): void {
    // If the kernel accepts no bytes for several sweeps, the client does not read.
    this.#stalledSweeps = this.socket.writableLength > 0 ? this.#stalledSweeps + 1 : 0;
    const idleMs = this.#requests === 0 ? now - this.#idleSince : 0;
    if (this.#stalledSweeps * SWEEP_INTERVAL_MS >= CLIENT_TIMEOUT_MS) this.reset();
    // An earlier sweep has called `end`, without effect.
    else if (idleMs > keepAliveMs + CLIENT_TIMEOUT_MS) this.socket.destroy();
    else if (idleMs >= (this.#hasSentRequest ? keepAliveMs : CLIENT_TIMEOUT_MS)) this.end();
    else this.onSweep();
  }
}

export class HttpConnections {
  readonly #all = new Set<HttpConnection>();
  readonly #bySocket = new WeakMap<Socket, HttpConnection>();
  #isOverIdleLimitUntil = 0;

  get size(): number {
    return this.#all.size;
  }

  add(socket: Socket): HttpConnection {
    const connection = new HttpConnection(socket);
    this.#all.add(connection);
    this.#bySocket.set(socket, connection);
    socket.once('close', () => this.#all.delete(connection));
    return connection;
  }

  of(socket: Socket): HttpConnection | undefined {
    return this.#bySocket.get(socket);
  }

  /**
   * Counts an HTTP/1.1 request and returns true. If the client has sent too many requests without waiting for
   * responses, closes the connection and returns false.
   */
  startRequest(socket: Socket, response: ServerResponse): boolean {
    const connection = this.#bySocket.get(socket);
    if (!connection || connection.isFull) {
      socket.destroy();
      return false;
    }
    connection.startRequest();
    connection.responses.push(response);
    connection.isAnsweredEarly = false;
    response.once('close', () => {
      connection.isAnsweredEarly = !response.req.complete;
      connection.finishRequest();
      connection.responses.splice(connection.responses.indexOf(response), 1);
    });
    return true;
  }

  [Symbol.iterator](): Iterator<HttpConnection> {
    return this.#all.values();
  }

  /** Closes idle and stalled connections, every `SWEEP_INTERVAL_MS`. Returns the keep-alive timeout to announce. */
  sweep(): number {
    const now = performance.now();
    // Above the limit, every idle connection gets the short timeout.
    if (this.#all.size > IDLE_LIMIT) this.#isOverIdleLimitUntil = now + KEEP_ALIVE_MS;
    const keepAliveMs = now < this.#isOverIdleLimitUntil ? CLIENT_TIMEOUT_MS : KEEP_ALIVE_MS;
    for (const connection of this.#all) connection.sweep(now, keepAliveMs);
    return keepAliveMs - KEEP_ALIVE_MARGIN_MS;
  }
}
