import type { KeyObject } from 'node:crypto';
import { rateLimits } from '../../database/schema/login-schema.ts';
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { hmac, type LoginCodeKeys, type LoginCodeSettings } from './login-code.ts';
import { networkOf, siteOf } from './network.ts';

/** A leaky bucket: `burst` permits at once, then another one per interval. */
export interface RateLimit {
  readonly burst: number;
  readonly intervalMs: number;
}

export const ONCE_A_DAY: RateLimit = { burst: 1, intervalMs: DAY_MS };

/** Each change stores an event in the audit log, and messages to webhooks. */
const CHANGES: RateLimit = { burst: 60, intervalMs: 60_000 };

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

/** Returns whether the bucket has no permit left. Unlike `takePermit`, it never waits for a lock. */
export async function isExhausted({ run, now }: Call, key: Buffer, limit: RateLimit): Promise<boolean> {
  const latestEmptyMs = now.getTime() + (limit.burst - 1) * limit.intervalMs;
  return (await run(selectFullBucket, { key, latestEmptyMs })).length > 0;
}

/**
 * Takes one of the permits of a person to change their account.
 *
 * @throws ServiceError `Too many changes`
 */
export async function takeChangePermit(call: Call, [key]: LoginCodeKeys, userId: string): Promise<void> {
  if (!(await takePermit(call, hmac(key, `account changes: ${userId}`), CHANGES)))
    throw new ServiceError('TOO_MANY_CHANGES');
}

/** A limit on what one network may do, and one on the larger site around it. */
export interface SharedLimit {
  /** What is limited, as a part of the key of the bucket. */
  readonly subject: string;
  readonly perNetwork: RateLimit;
  readonly perSite: RateLimit;
}

/** The keys of buckets, so that nobody with access to the database alone learns whose they are. */
interface HmacKeys extends Partial<Pick<LoginCodeSettings, 'limitFactor'>> {
  readonly keys: readonly (Buffer | KeyObject)[];
}

/** Takes a permit of the network of the address and one of its site. Returns false if one of them has none left. */
export async function takeNetworkPermits(
  call: Call,
  keys: HmacKeys,
  address: string,
  limit: SharedLimit,
): Promise<boolean> {
  for (const [key, ofPlace] of bucketsOf(keys, address, limit))
    if (!(await takePermit(call, key, ofPlace))) return false;
  return true;
}

/** Gives the permits back that `takeNetworkPermits` has taken. */
export async function returnNetworkPermits(
  { run }: Call,
  keys: HmacKeys,
  address: string,
  limit: SharedLimit,
): Promise<void> {
  for (const [key, { intervalMs }] of bucketsOf(keys, address, limit)) await run(drainBucket, { key, intervalMs });
}

function bucketsOf({ keys, limitFactor = 1 }: HmacKeys, address: string, limit: SharedLimit) {
  const places = [
    [networkOf(address), limit.perNetwork],
    [siteOf(address), limit.perSite],
  ] as const;
  return places.map(([place, { burst, intervalMs }]) => {
    return [hmac(keys[0], `${limit.subject}: ${place}`), { burst: burst * limitFactor, intervalMs }] as const;
  });
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
