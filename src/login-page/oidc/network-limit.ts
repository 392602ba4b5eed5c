import { LRUCache } from 'lru-cache';
import { networkOf } from '../../domain/login/network.ts';

/** Bounds the memory. An attacker with more networks than this is not stopped by a limit per network anyway. */
const MAX_NETWORKS = 10_000;
const MINUTE_MS = 60_000;

/** Leaky buckets in memory, one per network: an IPv4 address, or an IPv6 prefix of 64 bits. */
export class NetworkLimit {
  readonly #buckets = new LRUCache<string, { emptyAt: number }>({ max: MAX_NETWORKS });
  readonly #intervalMs: number;

  constructor(perMinute: number) {
    this.#intervalMs = MINUTE_MS / perMinute;
  }

  /** Takes a permit of the network of the address. Returns false if the network has none left. */
  take(address: string, instant: Date): boolean {
    const now = instant.getTime();
    const network = networkOf(address);
    const emptyAt = Math.max(this.#buckets.get(network)?.emptyAt ?? 0, now) + this.#intervalMs;
    if (emptyAt - now > MINUTE_MS) return false;
    this.#buckets.set(network, { emptyAt });
    return true;
  }
}
