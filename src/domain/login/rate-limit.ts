import { hash, randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { rateLimits } from '../../database/login-schema.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import type { Call } from '../call.ts';

const WINDOW_MS = 60 * 60_000;

/**
 * Counts one more of `what` unless there have been `limit` within the last hour; whether it may go
 * ahead. Exact, whoever races: the row's lock makes callers take turns.
 */
export async function isWithinLimit({ run, now }: Call, what: string, limit: number): Promise<boolean> {
  const [counted] = await run(countOne, {
    key: hash('sha256', what, 'buffer'),
    id: randomUUID(),
    limit,
    now,
    windowStart: new Date(now.getTime() - WINDOW_MS),
    expiresAt: new Date(now.getTime() + WINDOW_MS),
  });
  return counted !== undefined;
}

const countOne: Statement<{ key: Buffer }[]> = (db) => {
  const { instants } = rateLimits;
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const windowStart = instantPlaceholder('windowStart');
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
        instants: sql`${recent} || ${now}`,
        lastId: sql`excluded.last_id`,
        expiresAt: sql`excluded.expires_at`,
      },
      // To be refused writes nothing, however often.
      setWhere: isFree,
    })
    .returning({ key: rateLimits.key })
    .prepare('count_rate_limit');
};
