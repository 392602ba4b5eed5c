import { createLruCache } from '../../domain/cache/revalidating-cache.ts';
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
    const { ofNetwork, ofSite, inAll } = PERMITS;
    const limits = [[networkOf(address), ofNetwork] as const, [siteOf(address), ofSite] as const, ['', inAll] as const];
    return this.takeEach(limits, instant.getTime(), count);
  }

  /** Takes permits of each bucket, or returns false. `now` is in milliseconds. */
  takeEach(limits: readonly (readonly [key: string, perMinute: number])[], now: number, count = 1): boolean {
    const filled = limits.map(([key, perMinute]) => {
      const emptyAt = Math.max(this.#buckets.get(key)?.emptyAt ?? 0, now) + (count * MINUTE_MS) / perMinute;
      return [key, emptyAt] as const;
    });
    // Half a millisecond makes up for the rounding of the sums.
    if (filled.some(([, emptyAt]) => emptyAt - now > MINUTE_MS + 0.5)) return false;
    for (const [key, emptyAt] of filled) this.#buckets.set(key, { emptyAt });
    return true;
  }
}
