import { LRUCache } from 'lru-cache';
import { networkOf } from '../../domain/login/network.ts';

/** More networks than a process can serve at a time. Whoever has as many is not held up by limits of each. */
const MAX_NETWORKS = 10_000;
const MINUTE_MS = 60_000;

/** Leaky buckets in memory, one for each network that a caller controls. */
export class NetworkLimit {
  readonly #buckets = new LRUCache<string, { emptyAt: number }>({ max: MAX_NETWORKS });
  readonly #intervalMs: number;

  constructor(perMinute: number) {
    this.#intervalMs = MINUTE_MS / perMinute;
  }

  /** Takes a permit of the network of the address. Returns false if it has none left. */
  take(address: string, instant: Date): boolean {
    const now = instant.getTime();
    const network = networkOf(address);
    const emptyAt = Math.max(this.#buckets.get(network)?.emptyAt ?? 0, now) + this.#intervalMs;
    if (emptyAt - now > MINUTE_MS) return false;
    this.#buckets.set(network, { emptyAt });
    return true;
  }
}
