/**
 * Limits how many requests begin in one iteration of the event loop.
 *
 * While a thousand sockets are readable, libuv keeps reading, and timers wait for seconds. It accepts only one new
 * connection per poll. So an iteration begins a limited number of requests, and none if it has accepted a connection.
 * Other requests wait, and connections are served round robin. This also protects against clients that open streams
 * only to reset them: most of these streams wait until all input has been read, which includes their resets.
 */

const MAX_PER_ITERATION = 256;
/** How many requests of one connection may begin in an iteration without waiting. */
const MAX_PER_CONNECTION = 16;
/** After this many iterations in a row that accepted a connection, requests begin even if one is accepted again. */
const MAX_YIELDED_ITERATIONS = 64;

/** How many requests of a connection have begun in its latest iteration. */
export interface ConnectionQuota {
  iteration: number;
  begunInIteration: number;
}

export class RequestScheduler {
  #iteration = 0;
  #isScheduled = false;
  #begunInIteration = 0;
  #hasNewConnection = false;
  #yieldedIterations = 0;
  /** By connection. The first connection is served next. */
  readonly #waiting = new Map<ConnectionQuota, (() => void)[]>();

  /** Delays requests to the next iteration, so that further connections are accepted first. */
  yieldToAccept(): void {
    this.#hasNewConnection = true;
    this.#schedule();
  }

  /** Calls `begin` now, or in a later iteration if other requests wait. */
  run(begin: () => void, quota: ConnectionQuota): void {
    this.#schedule();
    if (quota.iteration !== this.#iteration) {
      quota.iteration = this.#iteration;
      quota.begunInIteration = 0;
    }
    const isFull = this.#begunInIteration >= MAX_PER_ITERATION || quota.begunInIteration >= MAX_PER_CONNECTION;
    if (this.#hasNewConnection || this.#waiting.size > 0 || isFull) {
      const begins = this.#waiting.get(quota);
      if (begins) begins.push(begin);
      else this.#waiting.set(quota, [begin]);
      return;
    }
    this.#begunInIteration++;
    quota.begunInIteration++;
    begin();
  }

  /** Drops the requests of a connection that has closed: they keep their streams, and crowds come faster than turns. */
  forget(quota: ConnectionQuota): void {
    this.#waiting.delete(quota);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#startIteration());
  }

  #startIteration(): void {
    this.#isScheduled = false;
    this.#iteration++;
    this.#yieldedIterations = this.#hasNewConnection ? this.#yieldedIterations + 1 : 0;
    this.#hasNewConnection = false;
    const mayBegin = this.#yieldedIterations % MAX_YIELDED_ITERATIONS === 0;
    const due = mayBegin ? this.#takeDue() : [];
    this.#begunInIteration = due.length;
    if (this.#waiting.size > 0) this.#schedule();
    for (const begin of due) begin();
  }

  #takeDue(): (() => void)[] {
    const due: (() => void)[] = [];
    for (const [quota, begins] of this.#waiting) {
      if (due.length === MAX_PER_ITERATION) break;
      due.push(...begins.splice(0, 1));
      // Re-inserting moves it to the end: round robin.
      this.#waiting.delete(quota);
      if (begins.length > 0) this.#waiting.set(quota, begins);
    }
    return due;
  }
}
