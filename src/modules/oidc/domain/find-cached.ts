import type { Deadline } from '../../../database/database.ts';
import { createLateError } from '../../../database/errors.ts';
import { type RevalidatingCache, WITHIN_5_SECONDS } from '../../../domain/cache/revalidating-cache.ts';
import { withDeadline } from '../../../timing/with-deadline.ts';

/** Returns the value that the cache has, or waits for it until the deadline. @throws DatabaseUnavailableError */
export async function findCached<Value>(
  cache: RevalidatingCache<Value>,
  key: string,
  deadline: Deadline,
): Promise<Value | undefined> {
  const found = cache.get(key, WITHIN_5_SECONDS);
  if (!(found instanceof Promise)) return found?.value;
  return (await withDeadline(deadline, () => found, createLateError))?.value;
}
