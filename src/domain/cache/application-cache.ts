import { BatchLoader } from './batch-loader.ts';
import { createLruCache, RevalidatingCache } from './revalidating-cache.ts';

// Equivalent: limit: nobody counts so many applications
const MAX_APPLICATIONS = 10_000;

/**
 * Returns a cache of resources of applications. A key is the ID of the application, a slash and the ID of the resource.
 * `loadAll` reads resources of one application by their IDs.
 */
export function createApplicationCache<Value>(
  loadAll: (applicationId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): RevalidatingCache<Value> {
  const loaders = createLruCache<BatchLoader<Value>>(MAX_APPLICATIONS);
  return new RevalidatingCache((key) => {
    const [applicationId = '', id = ''] = key.split('/');
    let loader = loaders.get(applicationId);
    if (!loader) {
      loader = new BatchLoader((ids) => loadAll(applicationId, ids));
      loaders.set(applicationId, loader);
    }
    return loader.load(id);
  });
}
