/**
 * Limits how many requests begin in one iteration of the event loop.
 *
 * While a thousand sockets are readable, libuv keeps reading and timers wait for seconds; and it accepts
 * one new connection per poll. So only some requests begin per iteration, and none in an iteration that
 * brings a connection: the others wait, and connections take turns. Clients that open many streams only
 * to reset them get little work done: most of those streams wait until everything has been read.
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
  /** By connection. The one whose turn is next comes first. */
  readonly #waiting = new Map<ConnectionQuota, (() => void)[]>();

  /** Delays requests to the next iteration, so that the new connection is followed by others. */
  yieldToAccept(): void {
    this.#hasNewConnection = true;
    this.#schedule();
  }

  /** Calls `begin` now, or in a later iteration if others wait: connections take turns then. */
  run(begin: () => void, quota: ConnectionQuota): void {
    this.#schedule();
    if (quota.iteration !== this.#iteration) {
      quota.iteration = this.#iteration;
      quota.begunInIteration = 0;
    }
    const isFull = this.#begun >= MAX_PER_ITERATION || quota.begunInIteration >= MAX_PER_CONNECTION;
    if (this.#hasNewConnection || this.#waiting.size > 0 || isFull) {
      const begins = this.#waiting.get(quota);
      if (begins) begins.push(begin);
      else this.#waiting.set(quota, [begin]);
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
    const due = mayBegin ? this.#takeDue() : [];
    this.#begun = due.length;
    if (this.#waiting.size > 0) this.#schedule();
    for (const begin of due) begin();
  }

  #takeDue(): (() => void)[] {
    const due: (() => void)[] = [];
    for (const [quota, begins] of this.#waiting) {
      if (due.length === MAX_PER_ITERATION) break;
      due.push(...begins.splice(0, 1));
      // Set again, it comes last and takes part in this loop once more.
      this.#waiting.delete(quota);
      if (begins.length > 0) this.#waiting.set(quota, begins);
    }
    return due;
  }
}
