/**
 * Limits how many calls are in flight. Calls beyond the limit are refused before they cost a query, so
 * that those admitted are answered in time, whether this process or Postgres cannot keep up.
 *
 * The limit follows Little's law: calls in flight divided by the time each takes is the throughput. A
 * call that took too long tells how many there should have been; every other one raises the limit by
 * one. A call that failed tells nothing: it may have waited for a lock, which no other call needs.
 */
import { unavailable } from './call-errors.ts';

/** The share of the request timeout that a call should take at most. */
const TARGET_SHARE = 0.15;

export interface AdmissionLimits {
  readonly max: number;
  /** So many calls are always admitted, to learn from. */
  readonly min: number;
}

export class Admission {
  #limit: number;
  #inFlight = 0;
  readonly #limits: AdmissionLimits;
  readonly #targetMs: number;

  constructor(limits: AdmissionLimits, requestTimeoutMs: number) {
    this.#limit = limits.max;
    this.#limits = limits;
    this.#targetMs = requestTimeoutMs * TARGET_SHARE;
  }

  /** Does the work. @throws ServiceError `Service unavailable` while the limit is reached. */
  async run<T>(work: () => Promise<T> | T): Promise<T> {
    this.#enter();
    try {
      return await work();
    } finally {
      this.#inFlight--;
    }
  }

  /** Does the work and adapts the limit to the time that it took. @throws like `run`. */
  async runTimed<T>(work: () => Promise<T>): Promise<T> {
    const inFlight = this.#enter();
    const startedAt = performance.now();
    try {
      const result = await work();
      this.#adapt(inFlight, performance.now() - startedAt);
      return result;
    } finally {
      this.#inFlight--;
    }
  }

  #enter(): number {
    if (this.#inFlight < this.#limit) return ++this.#inFlight;
    throw unavailable('overloaded');
  }

  #adapt(inFlight: number, tookMs: number): void {
    const { min, max } = this.#limits;
    if (tookMs <= this.#targetMs) this.#limit = Math.min(max, this.#limit + 1);
    else this.#limit = Math.max(min, Math.min(this.#limit, (inFlight * this.#targetMs) / tookMs));
  }
}
