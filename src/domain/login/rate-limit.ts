import { type SQL, sql } from 'drizzle-orm';
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { type DerivedKeys, hmac } from '../crypto/derived-keys.ts';
import type { LoginCodeSettings } from './login-code.ts';
import { networkOf, siteOf } from './network.ts';

/** A leaky bucket: `burst` permits at once, then another one per interval. */
export interface RateLimit {
  readonly burst: number;
  readonly intervalMs: number;
}

export interface Bucket extends RateLimit {
  readonly key: Buffer;
}

export const ONCE_A_DAY: RateLimit = { burst: 1, intervalMs: DAY_MS };

/** Each change stores an event in the audit log, and messages to webhooks. */
const CHANGES: RateLimit = { burst: 60, intervalMs: 60_000 };

/** Takes a permit of the bucket with the key, or returns false if none is left. */
export async function takePermit(call: Call, key: Buffer, limit: RateLimit): Promise<boolean> {
  return takeAll(call, [{ key, ...limit }]);
}

/** Takes a permit of each bucket, or none and returns false if one of them has none left. */
async function takeAll(call: Call, buckets: readonly Bucket[]): Promise<boolean> {
  const taken = (await takeEach(call, buckets)) ?? (await call.run(takePermits, permitsOf(call, buckets)));
  return (await settlePermits(call, buckets, taken)) === undefined;
}

/**
 * Takes one of the permits of a person to change their account.
 *
 * @throws ServiceError `Too many changes`
 */
export async function takeChangePermit(call: Call, [key]: DerivedKeys, userId: string): Promise<void> {
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
type HmacKeys = Pick<LoginCodeSettings, 'keys'> & Partial<LoginCodeSettings>;

/** Takes a permit of the network of the address and one of its site. Returns false if one of them has none left. */
export function takeNetworkPermits(call: Call, keys: HmacKeys, address: string, limit: SharedLimit): Promise<boolean> {
  return takeAll(call, bucketsOf(keys, address, limit));
}

/** Gives the permits back that `takeNetworkPermits` has taken. */
export function returnNetworkPermits(call: Call, keys: HmacKeys, address: string, limit: SharedLimit): Promise<void> {
  return returnPermits(call, bucketsOf(keys, address, limit));
}

function bucketsOf({ keys, limitFactor = 1 }: HmacKeys, address: string, limit: SharedLimit): readonly Bucket[] {
  const places = [
    [networkOf(address), limit.perNetwork],
    [siteOf(address), limit.perSite],
  ] as const;
  return places.map(([place, { burst, intervalMs }]) => {
    return { key: hmac(keys[0], `${limit.subject}: ${place}`), burst: burst * limitFactor, intervalMs };
  });
}

export async function returnPermits({ run }: Call, buckets: readonly Bucket[]): Promise<void> {
  for (const { key, intervalMs } of buckets) await run(drainBucket, { key, intervalMs });
}

/** The most buckets of which one statement takes permits. */
const MOST = 5;

/**
 * Returns the parameters of `takenPermits`.
 *
 * @param required how many of the buckets must have a permit. One of the others may have none.
 */
export function permitsOf({ now }: Pick<Call, 'now'>, buckets: readonly Bucket[], required = buckets.length) {
  if (buckets.length > MOST) throw new Error('There are too many buckets');
  return {
    nowMs: now.getTime(),
    required,
    keys: buckets.map(({ key }) => key.toString('hex')),
    intervalsMs: buckets.map(({ intervalMs }) => intervalMs),
    latestMs: buckets.map(({ burst, intervalMs }) => now.getTime() + burst * intervalMs),
  };
}

const ofBucket = (list: SQL) => sql`(${list})[position]`;
const nowMs = p.bigint('nowMs');
/** When the bucket is empty with one more permit taken. */
const filledMs = sql`greatest(r.empty_ms, ${nowMs}) + excluded.empty_ms - ${nowMs}`;

/**
 * CTEs that take a permit of every bucket, or none if one that is required is full. Refusals write nothing, and wait for
 * no lock. The others lock the rows in the order of their keys, so that no two wait for each other. The lock keeps the
 * count exact: a bucket that concurrent requests fill meanwhile is not in `taken`, and `settlePermits` returns the permits
 * of the others.
 */
export const takenPermits = sql`wanted as (
    select position, decode(${ofBucket(p.texts('keys'))}, 'hex') as key, ${ofBucket(p.bigints('intervalsMs'))} as interval_ms,
      ${ofBucket(p.bigints('latestMs'))} as latest_ms
    from generate_series(1, ${sql.raw(String(MOST))}) as position where ${ofBucket(p.texts('keys'))} is not null
  ), filled as (
    select w.position from wanted w join rate_limits r on r.key = w.key where r.empty_ms > w.latest_ms - w.interval_ms
  ), taken as (
    insert into rate_limits as r (key, empty_ms, expires_at)
    select key, ${nowMs} + interval_ms, to_timestamp(latest_ms / 1000.0) from wanted
    where position not in (select position from filled)
      -- Equivalent: conjunct: settlePermits would give them back
      and not exists (
        select 1 from filled
        -- Equivalent: comparison: settlePermits would give them back
        where position <= ${p.integer('required')})
    -- Equivalent: order: two that meet lock in the same order either way
    order by key
    on conflict (key) do update set empty_ms = ${filledMs}, expires_at = excluded.expires_at
    where to_timestamp((${filledMs}) / 1000.0) <= excluded.expires_at
    returning key
  )`;

export const PERMIT = { isFull: t.boolean, isTaken: t.boolean };

type Permit = RowOfType<typeof PERMIT>;

/** A row for each bucket, in their order. */
export const permits = sql`select position in (select position from filled) as is_full,
    key in (select key from taken) as is_taken
  from wanted order by position`;

const ofFirst = (list: SQL) => sql`(${list})[1]`;
const firstKey = sql`decode(${ofFirst(p.texts('keys'))}, 'hex')`;
const [firstInterval, firstLatest] = [ofFirst(p.bigints('intervalsMs')), ofFirst(p.bigints('latestMs'))];

/** In its second form a permit of the first bucket alone: each is on a server of its own. */
const takePermits = statement('take_permits', PERMIT)`with ${takenPermits} ${permits}`.ifDistributed`
  insert into rate_limits as r (key, empty_ms, expires_at)
  values (${firstKey}, ${nowMs} + ${firstInterval}, to_timestamp(${firstLatest} / 1000.0))
  on conflict (key) do update set empty_ms = ${filledMs}, expires_at = excluded.expires_at
  where ${filledMs} <= ${firstLatest}
  returning false as is_full, true as is_taken`;

const selectFull = statement('select_full_rate_limit', {}).ifDistributed`
  select from rate_limits where key = ${firstKey} and empty_ms > ${firstLatest} - ${firstInterval}`;

/**
 * Takes permits as `takenPermits` does, by statements of one bucket. Returns undefined where one statement takes them all,
 * because one server has all tables.
 */
export async function takeEach(
  call: Call,
  buckets: readonly Bucket[],
  required = buckets.length,
): Promise<readonly Permit[] | undefined> {
  const found = await Promise.all(buckets.map((bucket) => call.run(selectFull, permitsOf(call, [bucket]))));
  // Equivalent: method: they are the same statement
  if (!found.every((rows) => rows !== undefined)) return undefined;
  const taken = found.map((rows): Permit => ({ isFull: rows.length > 0, isTaken: false }));
  if (taken.slice(0, required).some(({ isFull }) => isFull)) return taken;
  for (const [at, bucket] of buckets.entries()) {
    if (taken[at]?.isFull) continue;
    const [row] = await call.run(takePermits, permitsOf(call, [bucket]));
    if (row) taken[at] = row;
  }
  return taken;
}

/** Returns the first required bucket that has no permit left. The permits of the others are given back then. */
export async function settlePermits(
  call: Call,
  buckets: readonly Bucket[],
  rows: readonly Permit[],
  required = buckets.length,
): Promise<Bucket | undefined> {
  const ofRequired = rows.slice(0, required);
  if (ofRequired.every(({ isTaken }) => isTaken)) return undefined;
  await returnPermits(
    call,
    buckets.filter((_, at) => rows[at]?.isTaken),
  );
  const full = ofRequired.findIndex(({ isFull }) => isFull);
  // Equivalent: comparison: no first one is taken if it is full
  return buckets[full < 0 ? ofRequired.findIndex(({ isTaken }) => !isTaken) : full];
}

const drainBucket = statement('drain_rate_limit_bucket', {})`
  update rate_limits set empty_ms = empty_ms - ${p.bigint('intervalMs')} where key = ${p.bytes('key')}`;
