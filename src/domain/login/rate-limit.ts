import { eq, gt, sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { rateLimits } from '../../database/login-schema.ts';
import type { Call } from '../call.ts';

/** A leaky bucket: `burst` permits at once, then one more per interval. */
export interface RateLimit {
  readonly burst: number;
  readonly intervalMs: number;
}

/**
 * Takes one permit of the bucket with the key. Returns false when there is none. The row lock keeps the count exact
 * under concurrency.
 */
export async function takePermit({ run, now }: Call, key: Buffer, limit: RateLimit): Promise<boolean> {
  const { intervalMs } = limit;
  const [taken] = await run(fillBucket, {
    key,
    now: now.getTime(),
    intervalMs,
    emptyMs: now.getTime() + intervalMs,
    latestEmptyMs: now.getTime() + limit.burst * intervalMs,
    expiresAt: new Date(now.getTime() + limit.burst * intervalMs),
  });
  return taken !== undefined;
}

/** Returns whether the bucket has no permit. Unlike a refused permit it locks nothing. */
export async function isExhausted({ run, now }: Call, key: Buffer, limit: RateLimit): Promise<boolean> {
  const latestEmptyMs = now.getTime() + (limit.burst - 1) * limit.intervalMs;
  return (await run(selectFullBucket, { key, latestEmptyMs })).length > 0;
}

const fillBucket: Statement<{ key: Buffer }[]> = (db) => {
  const number = (name: string) => sql`${sql.placeholder(name)}::bigint`;
  const emptyMs = sql`greatest(${rateLimits.emptyMs}, ${number('now')}) + ${number('intervalMs')}`;
  return db
    .insert(rateLimits)
    .values(placeholders('key', 'emptyMs', 'expiresAt'))
    .onConflictDoUpdate({
      target: rateLimits.key,
      set: { emptyMs, expiresAt: sql`excluded.expires_at` },
      // A refusal writes nothing.
      setWhere: sql`${emptyMs} <= ${number('latestEmptyMs')}`,
    })
    .returning({ key: rateLimits.key })
    .prepare('fill_rate_limit_bucket');
};

const selectFullBucket: Statement<unknown[]> = (db) =>
  db
    .select({ key: rateLimits.key })
    .from(rateLimits)
    .where(
      sql`${eq(rateLimits.key, sql.placeholder('key'))} and ${gt(rateLimits.emptyMs, sql.placeholder('latestEmptyMs'))}`,
    )
    .prepare('select_full_rate_limit_bucket');
