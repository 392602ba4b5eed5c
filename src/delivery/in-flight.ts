import type { EndedAttempt } from './delivery-state.ts';
import type { DueDelivery } from './queue.ts';

/** Attempts in flight, each for one delivery. */
export class AttemptsInFlight {
  readonly #left = new Map<DueDelivery, Promise<void>>();
  #ended: EndedAttempt[] = [];

  constructor(deliveries: readonly DueDelivery[], attempt: (delivery: DueDelivery) => Promise<EndedAttempt>) {
    for (const delivery of deliveries) {
      const ended = attempt(delivery).then((endedAttempt) => {
        this.#ended.push(endedAttempt);
        this.#left.delete(delivery);
      });
      // Callers see the error from `waitForOne` or `waitForAll`. This handler only prevents an unhandled rejection.
      ended.catch(() => {});
      this.#left.set(delivery, ended);
    }
  }

  /** The deliveries whose attempts have not ended. */
  get left(): readonly DueDelivery[] {
    return [...this.#left.keys()];
  }

  /** Returns the attempts that have ended since the last call. */
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
