/** Tracks open connections and closes idle or stalled ones. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ConnectionQuota } from './request-scheduler.ts';

/** How long a client may take to send its first request, to complete a request, and to read a response. */
export const CLIENT_TIMEOUT_MS = 7_000;
export const SWEEP_INTERVAL_MS = 500;

export const MAX_REQUESTS_PER_CONNECTION = 100;

/** An idle connection takes 20 KB of memory, and 66 KB over TLS: these together at most 135 MB. */
const MAX_CONNECTIONS = 2_048;

/** Tracks the use of a client's connection. The server of its protocol reports requests and adds its own checks. */
export class HttpConnection implements ConnectionQuota {
  iteration = 0;
  begunInIteration = 0;
  #requests = 0;
  #idleSince = performance.now();
  #hasSentRequest = false;
  #stalledSweeps = 0;
  #endedAt = Number.POSITIVE_INFINITY;
  readonly socket: Socket;
  /** HTTP/1.1: unfinished responses, oldest first. */
  readonly responses: ServerResponse[] = [];
  /** HTTP/1.1: whether the latest request was answered before its body was complete. */
  isAnsweredEarly = false;
  /** HTTP/1.1: whether the handler of the latest request limits how long its body takes. */
  hasLongBody = false;
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

  /** In milliseconds of `performance.now()`; undefined while there are requests. */
  get idleSince(): number | undefined {
    return this.#requests === 0 ? this.#idleSince : undefined;
  }

  /** Counts a request whose head has arrived. */
  startRequest(): void {
    this.#requests++;
    this.#hasSentRequest = true;
    this.hasLongBody = false;
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

  /** Closes the connection gracefully. If an earlier call had no effect, drops it. */
  endIdle(now: number): void {
    if (now - this.#endedAt > CLIENT_TIMEOUT_MS) this.socket.destroy();
    else if (this.#endedAt === Number.POSITIVE_INFINITY) {
      this.#endedAt = now;
      this.end();
    }
  }

  sweep(now: number, keepAliveMs: number): void {
    // If the kernel accepts no bytes for several sweeps, the client does not read.
    this.#stalledSweeps = this.socket.writableLength > 0 ? this.#stalledSweeps + 1 : 0;
    const idleMs = now - (this.idleSince ?? now);
    if (this.#stalledSweeps * SWEEP_INTERVAL_MS >= CLIENT_TIMEOUT_MS) this.reset();
    else if (idleMs >= (this.#hasSentRequest ? keepAliveMs : CLIENT_TIMEOUT_MS)) this.endIdle(now);
    else this.onSweep();
  }
}

export class HttpConnections {
  readonly #all = new Set<HttpConnection>();
  readonly #bySocket = new WeakMap<Socket, HttpConnection>();
  readonly #keepAliveMs: number;
  readonly #limit: number;

  /** `keepAliveMs` is how long a connection may be idle between requests, unless there are more than `limit`. */
  constructor(keepAliveMs: number, limit: number) {
    this.#keepAliveMs = keepAliveMs;
    this.#limit = limit;
  }

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

  /** Closes idle and stalled connections, every `SWEEP_INTERVAL_MS`. */
  sweep(now = performance.now()): void {
    for (const connection of this.#all) connection.sweep(now, this.#keepAliveMs);
    const excess = this.#all.size - this.#limit;
    if (excess > 0) this.#closeIdle(excess, now);
  }

  /**
   * Closes those that have been idle longest. A load balancer may be sending a request on any of them, so it closes no
   * more than it must, and none that is in frequent use.
   */
  #closeIdle(count: number, now: number): void {
    const idleMs = ({ idleSince = now }: HttpConnection) => now - idleSince;
    const idle = [...this.#all].filter((connection) => idleMs(connection) >= CLIENT_TIMEOUT_MS);
    idle.sort((a, b) => idleMs(b) - idleMs(a));
    for (const connection of idle.slice(0, count)) connection.endIdle(now);
  }
}

/** Returns how many connections may be open before idle ones are closed early: half of the open files at most. */
export function findConnectionLimit(): number {
  // Otherwise the report would look up the host names of all clients.
  Object.assign(process.report, { excludeNetwork: true });
  const report: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const files = Number(report.userLimits?.open_files?.soft);
  return files > 0 ? Math.min(MAX_CONNECTIONS, Math.floor(files / 2)) : MAX_CONNECTIONS;
}
