/** The shortest interval between two statements. A full batch does not wait for it. */
const BATCH_INTERVAL_MS = 5;
const MAX_BATCH_SIZE = 1_000;

/**
 * Loads values in batches. The first key after a pause is loaded at once. A flood of guesses costs Postgres about 200
 * short statements a second, and delays other keys by milliseconds.
 */
export class BatchLoader<Value> {
  readonly #loadAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>;
  #batch = new Map<string, PromiseWithResolvers<Value | undefined>>();
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(loadAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>) {
    this.#loadAll = loadAll;
  }

  /** Resolves to the value, or to undefined if there is none. The statement that reads it starts after this call. */
  load(key: string): Promise<Value | undefined> {
    const pending = this.#batch.get(key);
    if (pending) return pending.promise;
    const load = Promise.withResolvers<Value | undefined>();
    this.#batch.set(key, load);
    const delayMs = this.#sentAt + BATCH_INTERVAL_MS - performance.now();
    if (delayMs <= 0 || this.#batch.size >= MAX_BATCH_SIZE) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), delayMs);
    return load.promise;
  }

  async #send(): Promise<void> {
    const batch = this.#batch;
    this.#batch = new Map();
    this.#sentAt = performance.now();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      const values = await this.#loadAll([...batch.keys()]);
      for (const [key, { resolve }] of batch) resolve(values.get(key));
    } catch (error) {
      for (const { reject } of batch.values()) reject(error);
    }
  }
}
