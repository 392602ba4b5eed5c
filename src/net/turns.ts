/**
 * libuv goes on reading for as long as a thousand sockets are ready, and lets timers, and whatever else
 * waits for the event loop to turn, wait for seconds. So of the requests that come in one turn only some
 * begin at once. The others begin in the next: until then their clients have nothing more to send.
 */

/** How many requests begin in the turn that they come in. */
const MOST = 256;

export class Turns {
  #begun = 0;
  readonly #waiting: (() => void)[] = [];

  /** Calls `begin` now or in the next turn. */
  take(begin: () => void): void {
    if (this.#begun++ === 0) setImmediate(() => this.#turn());
    if (this.#begun <= MOST) begin();
    else this.#waiting.push(begin);
  }

  #turn(): void {
    this.#begun = 0;
    for (const begin of this.#waiting.splice(0)) begin();
  }
}
