/**
 * How many application calls may be in flight. More than that are refused before they cost a query, so
 * that those which are let in are answered in time, whether it is this process that cannot keep up or
 * Postgres.
 *
 * Of calls that queue for the same thing as many are served in a second as are in flight, divided by
 * how long each takes (Little's law). A call that has taken too long so tells how many there should
 * have been; every one that has not makes room for another. One that fails tells nothing: it may have
 * waited for a lock, which is in the way of no other.
 */
import type { RpcCall } from './call.ts';
import { unavailable } from './errors.ts';
import type { Procedure } from './procedures.ts';

/** At no time more than these: they are a few tenths of a second of work when Postgres is quick. */
const MAX_IN_FLIGHT = 1_000;
/** As many are always let in, so that there are some to learn from. */
const MIN_IN_FLIGHT = 32;
/** The part of the time a call may take that it should take at most. */
const TARGET_SHARE = 0.15;

export class Admission {
  #limit = MAX_IN_FLIGHT;
  #inFlight = 0;
  readonly #targetMs: number;

  /** `requestTimeoutMs` is the longest a call may take. */
  constructor(requestTimeoutMs: number) {
    this.#targetMs = requestTimeoutMs * TARGET_SHARE;
  }

  /** The procedure, refusing calls with `Service unavailable` while there is no room. */
  limit({ method, gate, handler }: Procedure): Procedure {
    return {
      method,
      gate: async (call, method) => {
        this.#begin(call);
        try {
          await gate(call, method);
        } finally {
          this.#inFlight--;
        }
      },
      // Between the two the body arrives, which takes as long as the caller lets it.
      handler: async (request, call) => {
        const inFlight = this.#begin(call);
        const startedAt = performance.now();
        try {
          const response = await handler(request, call);
          this.#learn(inFlight, performance.now() - startedAt);
          return response;
        } finally {
          this.#inFlight--;
        }
      },
    };
  }

  #begin(call: RpcCall): number {
    if (this.#inFlight < this.#limit) return ++this.#inFlight;
    call.reason = 'overloaded';
    throw unavailable();
  }

  #learn(inFlight: number, tookMs: number): void {
    if (tookMs <= this.#targetMs) this.#limit = Math.min(MAX_IN_FLIGHT, this.#limit + 1);
    else this.#limit = Math.max(MIN_IN_FLIGHT, Math.min(this.#limit, (inFlight * this.#targetMs) / tookMs));
  }
}
