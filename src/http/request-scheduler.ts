/**
 * Who comes first when more comes at once than can be done. libuv goes on reading for as long as a
 * thousand sockets are ready, and lets timers, and whatever else waits for the event loop to turn, wait
 * for seconds; and it takes one new connection each time it asks what is ready. So in a turn of the loop
 * only some requests begin, and none in a turn that brings a connection: the others wait, and meanwhile
 * their clients have nothing more to send. Who sends many at once only to give them up gets little done for
 * it: most of them wait at least until all has been read.
 */

/** How many requests begin in a turn. */
const MAX_PER_TURN = 256;
/** How many of them may be of one connection while there is more to read. */
const MAX_PER_CONNECTION = 16;
/** How many turns in a row they give way to connections: requests are to get the most of the time. */
const PATIENCE_TURNS = 64;

/** Kept with a connection: how many of its requests have begun in which turn. */
export interface ConnectionQuota {
  turn: number;
  begunInTurn: number;
}

export class RequestScheduler {
  #number = 0;
  #isAwaited = false;
  #begun = 0;
  #hasConnection = false;
  #turnsGivenWay = 0;
  readonly #waiting: (() => void)[] = [];

  /** To be called when a connection comes. */
  yieldToAccept(): void {
    this.#hasConnection = true;
    this.#await();
  }

  /** Calls `begin` now or in a turn to come, after those that wait already. */
  take(begin: () => void, share: ConnectionQuota): void {
    this.#await();
    if (share.turn !== this.#number) {
      share.turn = this.#number;
      share.begunInTurn = 0;
    }
    const isFull = this.#begun >= MAX_PER_TURN || share.begunInTurn >= MAX_PER_CONNECTION;
    if (this.#hasConnection || this.#waiting.length > 0 || isFull) {
      this.#waiting.push(begin);
      return;
    }
    this.#begun++;
    share.begunInTurn++;
    begin();
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isAwaited = false;
    this.#number++;
    this.#turnsGivenWay = this.#hasConnection ? this.#turnsGivenWay + 1 : 0;
    this.#hasConnection = false;
    const due = this.#turnsGivenWay % PATIENCE_TURNS === 0 ? this.#waiting.splice(0, MAX_PER_TURN) : [];
    this.#begun = due.length;
    if (this.#waiting.length > 0) this.#await();
    for (const begin of due) begin();
  }
}
