import { hash, randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Statement } from '../../db/database.ts';
import { rateLimits } from '../../db/login-schema.ts';
import type { Call } from '../call.ts';

const WINDOW_MS = 60 * 60_000;

/**
 * Counts one more of `what` unless there have been `limit` within the last hour; whether it may go
 * ahead. Exact, whoever races: the row's lock makes callers take turns.
 */
export async function isWithinLimit({ run, now }: Call, what: string, limit: number): Promise<boolean> {
  const id = randomUUID();
  const [row] = await run(countOne, {
    key: hash('sha256', what, 'buffer'),
    id,
    limit,
    now,
    windowStart: new Date(now.getTime() - WINDOW_MS),
    expiresAt: new Date(now.getTime() + WINDOW_MS),
  });
  return row?.lastId === id;
}

const countOne: Statement<{ lastId: string }[]> = (db) => {
  const { instants } = rateLimits;
  const now = sql`${sql.param(sql.placeholder('now'), rateLimits.expiresAt)}::timestamptz`;
  const windowStart = sql.param(sql.placeholder('windowStart'), rateLimits.expiresAt);
  const recent = sql`array(select instant from unnest(${instants}) as instant where instant > ${windowStart})`;
  const isFree = sql`cardinality(${recent}) < ${sql.placeholder('limit')}::int`;
  return db
    .insert(rateLimits)
    .values({
      key: sql.placeholder('key'),
      instants: sql`array[${now}]`,
      lastId: sql.placeholder('id'),
      expiresAt: sql.placeholder('expiresAt'),
    })
    .onConflictDoUpdate({
      target: rateLimits.key,
      set: {
        instants: sql`case when ${isFree} then ${recent} || ${now} else ${recent} end`,
        lastId: sql`case when ${isFree} then excluded.last_id else ${rateLimits.lastId} end`,
        expiresAt: sql`case when ${isFree} then excluded.expires_at else ${rateLimits.expiresAt} end`,
      },
    })
    .returning({ lastId: rateLimits.lastId })
    .prepare('count_rate_limit');
};
