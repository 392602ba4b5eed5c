/** The backlog of deliveries. The statement reads a limited number of rows, however many are pending. */
import { type SQL, sql } from 'drizzle-orm';
import type { Run } from '../database/pool/database.ts';
import { nullable, statement, t } from '../database/sql/template.ts';
import { URGENT } from '../domain/webhooks/delivery.ts';

/** Postgres takes 2 ms to count this many. */
const MAX_COUNTED = 10_000;
/** The search for the oldest delivery reads this many queues, the longest due first. */
const MAX_QUEUES = 500;

export interface Backlog {
  /** The pending deliveries, up to `MAX_COUNTED`. */
  readonly pending: number;
  /** The earliest instant at which a pending delivery to an endpoint that answers is due, or null without one. */
  readonly healthyDueAt: Date | null;
  /** The same for failing endpoints. */
  readonly failingDueAt: Date | null;
}

export async function readBacklog(run: Run): Promise<Backlog | undefined> {
  const [backlog] = await run(selectBacklog, {});
  return backlog;
}

const selectBacklog = statement('select_backlog', {
  pending: t.integer,
  healthyDueAt: nullable(t.instant),
  failingDueAt: nullable(t.instant),
})`
  select
    (select count(*)::integer from (
      -- The order is that of the index of pending deliveries, so that Postgres uses the index.
      select message_id from webhook_deliveries where due_at is not null
      order by application_id, webhook_id, message_id limit ${sql.raw(`${MAX_COUNTED}`)}
    ) as pending) as pending,
    (${selectOldestDue(sql`failed_batches = 0`)}) as healthy_due_at,
    (${selectOldestDue(sql`failed_batches > 0`)}) as failing_due_at`;

/**
 * Reads `due_at` of deliveries, because `next_at` of a leased queue is the end of the lease. Urgent deliveries count as due
 * since 1970, so they are left out.
 */
function selectOldestDue(condition: SQL): SQL {
  return sql`
    select min(due_at) from (
      select (
        select min(due_at) from webhook_deliveries as delivery
        where delivery.application_id = queue.application_id and delivery.webhook_id = queue.webhook_id
          and due_at > ${URGENT}
      ) as due_at
      from webhook_queues as queue where next_at is not null and ${condition}
      order by next_at limit ${sql.raw(`${MAX_QUEUES}`)}
    ) as oldest`;
}
