/** The backlog of deliveries. The statement reads few rows, however many are pending. */
import { type SQL, sql } from 'drizzle-orm';
import type { Run } from '../database/database.ts';
import { nullable, statement, t } from '../database/template.ts';

/** Counting up to here takes Postgres 2 ms. */
const MAX_COUNTED = 10_000;
/** How many queues are searched for the oldest delivery, in the order in which they are due. */
const MAX_QUEUES = 500;

export interface Backlog {
  /** The pending deliveries, up to `MAX_COUNTED`. */
  readonly pending: number;
  /** When the oldest pending delivery to endpoints that answer was due, or null if there is none. */
  readonly healthyDueAt: Date | null;
  /** The same for endpoints that fail. */
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
      -- Ordered as the index of pending deliveries, so that Postgres uses that index.
      select message_id from webhook_deliveries where due_at is not null
      order by application_id, webhook_id, message_id limit ${sql.raw(`${MAX_COUNTED}`)}
    ) as pending) as pending,
    (${selectOldestDue(sql`failed_batches = 0`)}) as healthy_due_at,
    (${selectOldestDue(sql`failed_batches > 0`)}) as failing_due_at`;

/** Reads the deliveries, because a leased queue is due only when its lease ends. */
function selectOldestDue(condition: SQL): SQL {
  return sql`
    select min(due_at) from (
      select (
        select min(due_at) from webhook_deliveries as delivery
        where delivery.application_id = queue.application_id and delivery.webhook_id = queue.webhook_id
          and due_at is not null
      ) as due_at
      from webhook_queues as queue where next_at is not null and ${condition}
      order by next_at limit ${sql.raw(`${MAX_QUEUES}`)}
    ) as oldest`;
}
