import { type SQL, sql } from 'drizzle-orm';
import { webhookQueues } from '../../../database/schema/delivery-schema.ts';
import { hourlyCounts } from '../../../database/schema/operations-schema.ts';
import { applications } from '../../../database/schema/schema.ts';
import { webhooks } from '../../../database/schema/webhook-schema.ts';
import { columnsOf, p, type RowOfType, statement, t } from '../../../database/sql/template.ts';
import { labelOf } from '../../../domain/core/application-label.ts';
import type { Call } from '../../../domain/core/call.ts';
import { createList } from '../../../domain/pages/list.ts';

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

/** -1 before the first ANALYZE: then rows are counted up to the limit. */
const estimateOf = (index: string) =>
  sql`(select reltuples from pg_class where oid = ${sql.raw(`'${index}'`)}::regclass)`;

/** Null where the estimate is shown, so that Postgres counts no rows in vain. */
const countUnlessMany = (estimate: string, count: SQL) => sql`
    -- Equivalent: conjunct: saves a count that nobody sees
    case when ${sql.raw(`${estimate} < ${ESTIMATED_FROM}`)} then ${count} end`;

/** The table of sessions has no other sessions than those that are live, can be renewed or have just expired. */
const selectTotals = statement('select_totals', {
  users: t.integer,
  estimatedUsers: t.float,
  sessions: t.integer,
  estimatedSessions: t.float,
  pending: t.integer,
})`
  select estimated_users, estimated_sessions,
    ${countUnlessMany(
      'estimated_users',
      countOf(sql`select 1 from users where deleted_at is null
        -- Equivalent: order: a count has none
        order by created_at, id`),
    )} as users,
    ${countUnlessMany(
      'estimated_sessions',
      countOf(
        sql`select expires_at from sessions
        -- Equivalent: order: a count has none
        order by application_id, began_at, user_id`,
        sql`expires_at > ${p.instant('now')}`,
      ),
    )} as sessions,
    ${countOf(sql`select 1 from webhook_deliveries where due_at is not null
        -- Equivalent: order: a count has none
        order by application_id, webhook_id, message_id`)} as pending
  from (select ${estimateOf('users_list_idx')}::float8 as estimated_users,
    ${estimateOf('sessions_list_idx')}::float8 as estimated_sessions) as estimates`;

const HOUR_MS = 60 * 60_000;
const HOURS = 24;

const COUNTS = { name: hourlyCounts.name, hour: hourlyCounts.hour, count: hourlyCounts.count };

export type HourlyCount = RowOfType<typeof COUNTS>;

/** Returns the stored counts of this hour and of the 23 before. An hour without counts has no row. */
export async function readHourlyCounts({ run, now }: Pick<Call, 'run' | 'now'>): Promise<readonly HourlyCount[]> {
  const thisHour = Math.floor(now.getTime() / HOUR_MS) * HOUR_MS;
  return run(selectCounts, { since: new Date(thisHour - (HOURS - 1) * HOUR_MS) });
}

const selectCounts = statement('select_hourly_counts', COUNTS)`
  select ${columnsOf(COUNTS)} from hourly_counts where hour >= ${p.instant('since')} order by hour, name`;

const { applicationId, id, url, ownerId } = webhooks;
const own = { applicationId, id, url, ownerId };

const FAILING = {
  ...own,
  /** Null if only tests and redeliveries have failed. */
  failingSince: webhookQueues.failingSince,
  applicationName: applications.name,
};

export type FailingWebhook = RowOfType<typeof FAILING>;

const MAX_ROWS = 10;

/**
 * Returns the ten active webhooks of all applications that have failed for the longest time, and whether there are
 * more. Their last attempts have failed, and another one is scheduled.
 */
export async function listFailingWebhooks({
  run,
}: Pick<Call, 'run'>): Promise<{ readonly rows: readonly FailingWebhook[]; readonly hasMore: boolean }> {
  const found = await run(selectFailingWebhooks, {});
  return { rows: found.slice(0, MAX_ROWS), hasMore: found.length > MAX_ROWS };
}

const selectFailingWebhooks = statement('select_failing_webhooks', FAILING)`
  select ${columnsOf(own, 'w')}, q.failing_since, w.application_name
  from webhook_queues q cross join lateral (
    select ${columnsOf(own, 'w')}, ${labelOf('a')} as application_name
    from webhooks w join applications a on a.id = w.application_id
    where w.application_id = q.application_id and w.id = q.webhook_id and w.is_active and a.deleted_at is null
    -- The limit makes Postgres look up one webhook for each queue, in the order of the index, and sort nothing.
    -- Equivalent: limit: it has one
    limit 1
  ) w
  where q.next_at is not null and q.failed_batches > 0
  order by q.failing_since, q.webhook_id
  -- Equivalent: limit: the first beyond the shown ones says that there are more
  limit ${sql.raw(String(MAX_ROWS + 1))}`;

const { disabledReason, updatedAt } = webhooks;
const ownWithReason = { ...own, disabledReason, updatedAt };

/** Returns a page of the webhooks that Usher has disabled, in all applications. */
export const listDisabledWebhooks = createList('select_disabled_webhooks', {
  name: 'disabled-webhooks',
  columns: { ...ownWithReason, applicationName: applications.name },
  select: sql`${columnsOf(ownWithReason, 'webhooks')}, ${labelOf('applications')} as application_name`,
  order: [updatedAt, id],
  join: sql`join applications on applications.id = webhooks.application_id`,
  where: sql`webhooks.disabled_reason is not null and applications.deleted_at is null`,
});
