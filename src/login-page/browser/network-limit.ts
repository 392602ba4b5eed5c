import { createLruCache } from '../../domain/cache/lru-cache.ts';
import { networkOf, siteOf } from '../../domain/login/network.ts';

/** Bounds the memory. The bucket of a busy site stays, however many networks it has. */
const MAX_BUCKETS = 20_000;
const MINUTE_MS = 60_000;

/**
 * Permits per minute: of an IPv4 address or an IPv6 prefix of 64 bits, of an IPv4 prefix of 24 or an IPv6 prefix of 48 bits,
 * and of all. A login takes one for each KiB that it stores for half an hour, so all store at most 30 MB a minute.
 */
const PERMITS = { ofNetwork: 600, ofSite: 1_200, inAll: 30_000 };

/** Leaky buckets in memory. A refusal takes no permit, so that a busy network does not use up those of others. */
export class NetworkLimit {
  readonly #buckets = createLruCache<{ emptyAt: number }>(MAX_BUCKETS);

  /** Takes permits of the network of the address, of its site, and of all. Returns false if one of them has too few. */
  take(address: string, instant: Date, count = 1): boolean {
    const now = instant.getTime();
    const limits = [
      [networkOf(address), PERMITS.ofNetwork],
      [siteOf(address), PERMITS.ofSite],
      ['', PERMITS.inAll],
    ] as const;
    const filled = limits.map(([place, perMinute]) => {
      const emptyAt = Math.max(this.#buckets.get(place)?.emptyAt ?? 0, now) + (count * MINUTE_MS) / perMinute;
      return [place, emptyAt] as const;
    });
    if (filled.some(([, emptyAt]) => emptyAt - now > MINUTE_MS)) return false;
    for (const [place, emptyAt] of filled) this.#buckets.set(place, { emptyAt });
    return true;
  }
}
