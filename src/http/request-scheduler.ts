/**
 * Limits how many requests begin in one iteration of the event loop.
 *
 * While a thousand sockets are readable, libuv keeps reading and timers wait for seconds; and it accepts
 * one new connection per poll. So only some requests begin per iteration, and none in an iteration that
 * brings a connection: the others wait in order. Clients that open many streams only to reset them get
 * little work done, because most of those streams wait at least until everything has been read.
 */

/** How many requests begin per iteration. */
const MAX_PER_ITERATION = 256;
/** How many of them may belong to one connection while there is more to read. */
const MAX_PER_CONNECTION = 16;
/** After so many iterations in a row that brought connections, requests begin all the same. */
const MAX_YIELDED_ITERATIONS = 64;

/** What a connection has used of its share, in which iteration. */
export interface ConnectionQuota {
  iteration: number;
  begunInIteration: number;
}

export class RequestScheduler {
  #iteration = 0;
  #isScheduled = false;
  #begun = 0;
  #hasNewConnection = false;
  #yieldedIterations = 0;
  readonly #queue: (() => void)[] = [];

  /** Delays requests to the next iteration, so that the new connection is followed by others. */
  yieldToAccept(): void {
    this.#hasNewConnection = true;
    this.#schedule();
  }

  /** Calls `begin` now or in a later iteration, after those that wait already. */
  run(begin: () => void, quota: ConnectionQuota): void {
    this.#schedule();
    if (quota.iteration !== this.#iteration) {
      quota.iteration = this.#iteration;
      quota.begunInIteration = 0;
    }
    const isFull = this.#begun >= MAX_PER_ITERATION || quota.begunInIteration >= MAX_PER_CONNECTION;
    if (this.#hasNewConnection || this.#queue.length > 0 || isFull) {
      this.#queue.push(begin);
      return;
    }
    this.#begun++;
    quota.begunInIteration++;
    begin();
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
    const due = mayBegin ? this.#queue.splice(0, MAX_PER_ITERATION) : [];
    this.#begun = due.length;
    if (this.#queue.length > 0) this.#schedule();
    for (const begin of due) begin();
  }
}
