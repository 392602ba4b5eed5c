import { LRUCache } from 'lru-cache';

/** What was read at an instant or later. */
interface Read {
  /** When the look-up began, in milliseconds of `performance.now()`. */
  readonly readAt: number;
}

/** A value as it was read at an instant or later. */
export interface Found<Value> extends Read {
  readonly value: Value;
}

/** How old a value may be, and from which age on it is read again in the background. */
export interface Ages {
  readonly maxAgeMs: number;
  readonly refreshAgeMs: number;
}

interface LookUp<Value> extends Read {
  readonly found: Promise<Found<Value> | undefined>;
}

/**
 * A cache of bounded staleness. A key in use costs no round trip: its value is refreshed in the background. Keys without
 * a value have a cache of their own, so that guesses cannot evict the keys in use. Their absence is as old as any value:
 * a replica of Postgres that was behind may not have had the key yet.
 */
export class RevalidatingCache<Value> {
  /** How many look-ups were answered at once, and how many had to wait. */
  readonly lookUps = { hits: 0, misses: 0 };
  readonly #known = new LRUCache<string, Found<Value>>({ max: 50_000 });
  readonly #absent = new LRUCache<string, Read>({ max: 10_000 });
  readonly #pending = new Map<string, LookUp<Value>>();
  readonly #load: (key: string) => Promise<Value | undefined>;

  /** `load` reads a value without the deadline of a caller: callers share the value, not their deadlines. */
  constructor(load: (key: string) => Promise<Value | undefined>) {
    this.#load = load;
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
    // A caller that has given up leaves nobody to handle the rejection.
    found.catch(() => {});
    return found;
  }

  /** Reads the value now. A look-up that fails changes nothing. */
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

  /** Forgets every value, and what pending look-ups will find. */
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
