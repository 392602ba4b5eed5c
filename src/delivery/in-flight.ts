/** Attempts that are being made, each for a delivery. */
export class InFlight<Delivery, Attempted> {
  readonly #left = new Map<Delivery, Promise<void>>();
  #ended: Attempted[] = [];

  constructor(deliveries: readonly Delivery[], attempt: (delivery: Delivery) => Promise<Attempted>) {
    for (const delivery of deliveries) {
      const ended = attempt(delivery).then((attempted) => {
        this.#ended.push(attempted);
        this.#left.delete(delivery);
      });
      // Whoever waits gets the error.
      ended.catch(() => {});
      this.#left.set(delivery, ended);
    }
  }

  /** The deliveries whose attempts have not ended. */
  get left(): readonly Delivery[] {
    return [...this.#left.keys()];
  }

  /** Returns what has ended since the last call. */
  takeEnded(): readonly Attempted[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  /** Resolves when an attempt ends. */
  async waitForOne(): Promise<void> {
    await Promise.race(this.#left.values());
  }

  /** Resolves when all attempts have ended, or after the time. */
  async waitForAll(timeoutMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, timeoutMs);
    await Promise.race([Promise.all(this.#left.values()), late.promise]).finally(() => clearTimeout(timer));
  }
}
