import { LRUCache } from 'lru-cache';

/** Returns a cache that takes memory and time as it fills. With the option `max`, a cache takes all of it at once. */
export function createLruCache<Value extends object | number>(
  maxEntries: number,
  { ttl = 0 }: { readonly ttl?: number } = {},
): LRUCache<string, Value> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1, ttl });
}
