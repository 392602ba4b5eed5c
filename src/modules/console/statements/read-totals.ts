import { type SQL, sql } from 'drizzle-orm';
import { p, statement, t } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';

/** A count ends here. */
const MAX_COUNTED = 1_000;
/** From so many rows on, the estimate of Postgres is shown, which costs nothing. */
const ESTIMATED_FROM = 300;

export interface Total {
  readonly count: number;
  /** Whether Postgres has estimated it, or there are more than were counted. */
  readonly kind: 'exact' | 'about' | 'at least';
}

/** Returns how many users, live sessions and pending deliveries there are in all applications. */
export async function readTotals({ run, now }: Pick<Call, 'run' | 'now'>) {
  const [row] = await run(selectTotals, { now });
  const toTotal = (count = 0, estimate = 0): Total => {
    if (estimate >= ESTIMATED_FROM) return { count: estimate, kind: 'about' };
    return { count, kind: count < MAX_COUNTED ? 'exact' : 'at least' };
  };
  return {
    users: toTotal(row?.users, row?.estimatedUsers),
    sessions: toTotal(row?.sessions, row?.estimatedSessions),
    pending: toTotal(row?.pending),
  };
}

/** Counts in the order of an index, so that Postgres reads no more than the limit. */
const countOf = (rows: SQL, which = sql`true`) =>
  sql`(select count(*) filter (where ${which})::integer from (${rows} limit ${sql.raw(String(MAX_COUNTED))}) as counted)`;

/** Not known before the first ANALYZE: then rows are counted up to the limit. */
const estimateOf = (index: string) =>
  sql`(select greatest(reltuples, 0) from pg_class where oid = ${sql.raw(`'${index}'`)}::regclass)`;

const isCounted = (estimate: string) => sql.raw(`${estimate} < ${ESTIMATED_FROM}`);

/** The table of sessions has no other sessions than those that are live, can be renewed or have just expired. */
const selectTotals = statement('select_totals', {
  users: t.integer,
  estimatedUsers: t.float,
  sessions: t.integer,
  estimatedSessions: t.float,
  pending: t.integer,
})`
  select estimated_users, estimated_sessions,
    case when ${isCounted('estimated_users')} then
      ${countOf(sql`select 1 from users where deleted_at is null order by created_at, id`)} end as users,
    case when ${isCounted('estimated_sessions')} then
      ${countOf(sql`select expires_at from sessions order by application_id, began_at, user_id`, sql`expires_at > ${p.instant('now')}`)}
      end as sessions,
    ${countOf(sql`select 1 from webhook_deliveries where due_at is not null order by application_id, webhook_id, message_id`)} as pending
  from (select ${estimateOf('users_list_idx')}::float8 as estimated_users,
    ${estimateOf('sessions_list_idx')}::float8 as estimated_sessions) as estimates`;
