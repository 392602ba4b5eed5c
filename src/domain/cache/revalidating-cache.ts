import { LRUCache } from 'lru-cache';

/** The result of a look-up. It is not older than `readAt`. */
interface Timed {
  /** When the look-up began, in milliseconds of `performance.now()`. */
  readonly readAt: number;
}

/** A value that is not older than `readAt`. */
export interface Found<Value> extends Timed {
  readonly value: Value;
}

/** From `maxAgeMs` on, a value is not used. From `refreshAgeMs` on, it is used, and read again in the background. */
interface Ages {
  readonly maxAgeMs: number;
  readonly refreshAgeMs: number;
}

/** A second of the five is for the look-up. */
const WITHIN_5_SECONDS: Ages = { maxAgeMs: 4_000, refreshAgeMs: 1_500 };

interface LookUp<Value> extends Timed {
  readonly found: Promise<Found<Value> | undefined>;
}

/**
 * A cache with bounded staleness. A key in use costs no round trip, because its value is refreshed in the background.
 * Keys without a value have a cache of their own, so that guesses cannot evict keys in use. Their absence expires as
 * values do: a standby of Postgres that lags behind may not have the key yet.
 */
export class RevalidatingCache<Value> {
  /** How many look-ups the cache has answered, and how many had to wait for `load`. */
  readonly lookUps = { hits: 0, misses: 0 };
  readonly #known = createLruCache<Found<Value>>(50_000);
  readonly #absent = createLruCache<Timed>(10_000);
  readonly #pending = new Map<string, LookUp<Value>>();
  readonly #load: (key: string) => Promise<Value | undefined>;

  /** `load` reads without the deadline of a caller, because several callers share its result. */
  constructor(load: (key: string) => Promise<Value | undefined>) {
    this.#load = load;
  }

  /** Returns the value. What has ended, such as a revoked key, has none after 5 s. @throws the error of `load` */
  async find(key: string): Promise<Value | undefined> {
    return (await this.get(key, WITHIN_5_SECONDS))?.value;
  }

  /** Returns the value, or a promise when it must be read first. The promise rejects with the error of `load`. */
  get(key: string, { maxAgeMs, refreshAgeMs }: Ages): Found<Value> | undefined | Promise<Found<Value> | undefined> {
    const now = performance.now();
    const known = this.#known.get(key);
    const pending = this.#pending.get(key);
    if (known && now - known.readAt < maxAgeMs) {
      if (now - known.readAt > refreshAgeMs && !pending) this.read(key);
      this.lookUps.hits++;
      return known;
    }
    const absent = this.#absent.get(key);
    if (absent && now - absent.readAt < maxAgeMs) {
      this.lookUps.hits++;
      return undefined;
    }
    this.lookUps.misses++;
    if (!pending || now - pending.readAt >= maxAgeMs) return this.read(key);
    // The pending look-up of another caller may fail before the deadline of this one.
    const found = pending.found.catch(() => this.read(key));
    // A caller that has given up does not handle the rejection.
    found.catch(() => {});
    return found;
  }

  /** Reads the value, even if the cache has one, and stores it there. A failed look-up changes nothing. */
  read(key: string): Promise<Found<Value> | undefined> {
    const readAt = performance.now();
    const found = this.#load(key).then((value) => (value === undefined ? undefined : { value, readAt }));
    const lookUp = { found, readAt };
    this.#pending.set(key, lookUp);
    const settle = (keep?: () => void) => {
      if (this.#pending.get(key) !== lookUp) return;
      this.#pending.delete(key);
      keep?.();
    };
    found.then(
      (found) => settle(() => this.#keep(key, found, readAt)),
      () => settle(),
    );
    return found;
  }

  /** Removes every value. The results of pending look-ups are not stored. */
  clear(): void {
    this.#known.clear();
    this.#pending.clear();
  }

  #keep(key: string, found: Found<Value> | undefined, readAt: number): void {
    if (found) {
      this.#known.set(key, found);
      this.#absent.delete(key);
    } else {
      this.#known.delete(key);
      this.#absent.set(key, { readAt });
    }
  }
}

/** Returns a cache that takes memory and time as it fills. With the option `max`, a cache takes all of it at once. */
export function createLruCache<Value extends object | number>(
  maxEntries: number,
  { ttl = 0 }: { readonly ttl?: number } = {},
): LRUCache<string, Value> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1, ttl });
}
