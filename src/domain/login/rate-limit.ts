import { hash, randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { rateLimits } from '../../database/login-schema.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import type { Call } from '../call.ts';

const WINDOW_MS = 60 * 60_000;

/**
 * Takes one permit of `what`. Returns false when `limit` permits were taken within the last hour. The row lock
 * keeps the count exact under concurrency.
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
    .values({ ...placeholders('key', 'expiresAt'), instants: sql`array[${now}]`, lastId: sql.placeholder('id') })
    .onConflictDoUpdate({
      target: rateLimits.key,
      set: {
        instants: sql`${recent} || ${now}`,
        lastId: sql`excluded.last_id`,
        expiresAt: sql`excluded.expires_at`,
      },
      // A refusal writes nothing.
      setWhere: isFree,
    })
    .returning({ key: rateLimits.key })
    .prepare('count_rate_limit');
};
