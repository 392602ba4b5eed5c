/** Attempts in flight, each for one delivery. */
export class AttemptsInFlight<Delivery, EndedAttempt> {
  readonly #left = new Map<Delivery, Promise<void>>();
  #ended: EndedAttempt[] = [];

  constructor(deliveries: readonly Delivery[], attempt: (delivery: Delivery) => Promise<EndedAttempt>) {
    for (const delivery of deliveries) {
      const ended = attempt(delivery).then((endedAttempt) => {
        this.#ended.push(endedAttempt);
        this.#left.delete(delivery);
      });
      // `waitForOne` and `waitForAll` reject with the error.
      ended.catch(() => {});
      this.#left.set(delivery, ended);
    }
  }

  /** The deliveries whose attempts have not ended. */
  get left(): readonly Delivery[] {
    return [...this.#left.keys()];
  }

  /** Returns what has ended since the last call. */
  takeEnded(): readonly EndedAttempt[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  /** Resolves when an attempt ends. */
  async waitForOne(): Promise<void> {
    await Promise.race(this.#left.values());
  }

  /** Resolves when all attempts have ended, or after the timeout. */
  async waitForAll(timeoutMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, timeoutMs);
    await Promise.race([Promise.all(this.#left.values()), late.promise]).finally(() => clearTimeout(timer));
  }
}
