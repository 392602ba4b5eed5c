/**
 * Limits how many calls are in flight. Calls beyond the limit are refused before they cost a query. So those
 * admitted are answered in time, whether this process or Postgres cannot keep up.
 *
 * The limit follows Little's law: calls in flight divided by the time each takes is the throughput. A
 * call that took too long tells how many there should have been; every other one raises the limit by
 * one. A call that failed or waited for a lock tells nothing: other calls do not need that lock.
 *
 * A caller may use the whole limit while nobody else calls, and its fair share of it always: the limit
 * divided by the number of callers with calls in flight.
 */
import { unavailable } from './call-errors.ts';

/** The share of the request timeout that a call should take at most. */
const TARGET_SHARE = 0.15;

export interface AdmissionLimits {
  readonly max: number;
  /** So many calls are always admitted, to learn from. */
  readonly min: number;
}

/** A call that has been admitted. */
export interface AdmittedCall {
  /** Says that the time it takes tells nothing of the load. */
  readonly ignoreTime: () => void;
}

export class Admission {
  #limit: number;
  #inFlight = 0;
  #refused = 0;
  readonly #byCaller = new Map<string, number>();
  readonly #limits: AdmissionLimits;
  readonly #targetMs: number;

  constructor(limits: AdmissionLimits, requestTimeoutMs: number) {
    this.#limit = limits.max;
    this.#limits = limits;
    this.#targetMs = requestTimeoutMs * TARGET_SHARE;
  }

  /** The calls admitted now, how many there may be, and how many were refused since the start. */
  get load() {
    return { inFlight: this.#inFlight, limit: this.#limit, refused: this.#refused };
  }

  /** @throws ServiceError `Service unavailable` if a call of this caller would be refused now */
  check(caller: string): void {
    if (this.#inFlight < this.#limit) return;
    const ofCaller = this.#byCaller.get(caller) ?? 0;
    const callers = this.#byCaller.size + (ofCaller === 0 ? 1 : 0);
    if (ofCaller < Math.max(1, this.#limit / callers)) return;
    this.#refused++;
    throw unavailable('overloaded');
  }

  /** Does the work and adapts the limit to the time that it took. @throws like `check` */
  async run<T>(caller: string, work: (call: AdmittedCall) => Promise<T> | T): Promise<T> {
    this.check(caller);
    const inFlight = ++this.#inFlight;
    this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 0) + 1);
    const startedAt = performance.now();
    let isTimeIgnored = false;
    try {
      const result = await work({
        ignoreTime: () => {
          isTimeIgnored = true;
        },
      });
      if (!isTimeIgnored) this.#adapt(inFlight, performance.now() - startedAt);
      return result;
    } finally {
      this.#leave(caller);
    }
  }

  #leave(caller: string): void {
    this.#inFlight--;
    const left = (this.#byCaller.get(caller) ?? 0) - 1;
    if (left > 0) this.#byCaller.set(caller, left);
    else this.#byCaller.delete(caller);
  }

  #adapt(inFlight: number, tookMs: number): void {
    const { min, max } = this.#limits;
    if (tookMs <= this.#targetMs) this.#limit = Math.min(max, this.#limit + 1);
    else this.#limit = Math.max(min, Math.min(this.#limit, (inFlight * this.#targetMs) / tookMs));
  }
}
