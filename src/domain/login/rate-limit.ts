import { rateLimits } from '../../database/schema/login-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';

/** A leaky bucket: `burst` permits at once, then another one per interval. */
export interface RateLimit {
  readonly burst: number;
  readonly intervalMs: number;
}

/**
 * Takes a permit of the bucket with the key, or returns false if none is left. The row lock keeps the count exact under
 * concurrency.
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

/** Gives a permit back that `takePermit` has taken. */
export async function returnPermit({ run }: Call, key: Buffer, { intervalMs }: RateLimit): Promise<void> {
  await run(drainBucket, { key, intervalMs });
}

/** Returns whether the bucket has no permit left. Unlike `takePermit`, it never waits for a lock. */
export async function isExhausted({ run, now }: Call, key: Buffer, limit: RateLimit): Promise<boolean> {
  const latestEmptyMs = now.getTime() + (limit.burst - 1) * limit.intervalMs;
  return (await run(selectFullBucket, { key, latestEmptyMs })).length > 0;
}

const fillBucket = statement('fill_rate_limit_bucket', { key: rateLimits.key })`
  insert into rate_limits as r (key, empty_ms, expires_at)
  values (${p.bytes('key')}, ${p.bigint('emptyMs')}, ${p.instant('expiresAt')})
  on conflict (key) do update
    set empty_ms = greatest(r.empty_ms, ${p.bigint('now')}) + ${p.bigint('intervalMs')}, expires_at = excluded.expires_at
    -- A refusal writes nothing.
    where greatest(r.empty_ms, ${p.bigint('now')}) + ${p.bigint('intervalMs')} <= ${p.bigint('latestEmptyMs')}
  returning key`;

const drainBucket = statement('drain_rate_limit_bucket', {})`
  update rate_limits set empty_ms = empty_ms - ${p.bigint('intervalMs')} where key = ${p.bytes('key')}`;

const selectFullBucket = statement('select_full_rate_limit_bucket', { key: rateLimits.key })`
  select key from rate_limits where key = ${p.bytes('key')} and empty_ms > ${p.bigint('latestEmptyMs')}`;
