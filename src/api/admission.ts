/**
 * Limits how many calls are in flight. Calls beyond the limit are refused before they cost a statement, so that
 * admitted calls are answered in time, whether this process or Postgres is too slow.
 *
 * The limit follows Little's law: throughput is calls in flight divided by the duration of each. A call that took too
 * long shows how many should have been in flight, and lowers the limit to that. Every other call raises it by one.
 * Calls that failed or waited for a lock are ignored: other calls do not need that lock.
 *
 * A caller may use the whole limit while nobody else calls. Otherwise it has its fair share: the limit divided by the
 * number of callers with calls in flight.
 */
import { unavailable } from './call-errors.ts';

/** A call that takes a larger share of the request timeout lowers the limit. */
const TARGET_SHARE = 0.15;

export interface AdmissionLimits {
  readonly max: number;
  /** The limit never falls below this, so that some calls show when it may rise. */
  readonly min: number;
}

export interface AdmittedCall {
  /** Excludes this call from the adaptation: its duration does not depend on the load. */
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

  /** The admitted calls, their limit, and the calls that were refused since the start. */
  get load() {
    return { inFlight: this.#inFlight, limit: this.#limit, refused: this.#refused };
  }

  /** @throws ServiceError `Service unavailable` if this caller may have no further call now */
  check(caller: string): void {
    if (this.#inFlight < this.#limit) return;
    const ofCaller = this.#byCaller.get(caller) ?? 0;
    const callers = this.#byCaller.size + (ofCaller === 0 ? 1 : 0);
    if (ofCaller < Math.max(1, this.#limit / callers)) return;
    this.#refused++;
    throw unavailable('overloaded');
  }

  /** Adapts the limit to the duration of the work. @throws like `check` */
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
