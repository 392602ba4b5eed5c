/** The backlog of deliveries. The statement reads few rows, however many are pending. */
import { type SQL, sql } from 'drizzle-orm';
import type { Run, Statement } from '../database/database.ts';
import { webhookDeliveries, webhookQueues } from '../database/webhook-schema.ts';

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

const selectBacklog: Statement<Backlog[]> = (db) => {
  // Ordered as the index of pending deliveries, so that Postgres uses that index.
  const pending = sql`
    select from ${webhookDeliveries} where due_at is not null
    order by application_id, webhook_id, message_id limit ${sql.raw(String(MAX_COUNTED))}`;
  return db
    .select({
      pending: sql<number>`(select count(*)::int from (${pending}) as pending)`,
      healthyDueAt: selectOldestDue(sql`failed_batches = 0`),
      failingDueAt: selectOldestDue(sql`failed_batches > 0`),
    })
    .from(sql`(select) as nothing`)
    .prepare('select_backlog');
};

/** Reads the deliveries, because a leased queue is due only when its lease ends. */
function selectOldestDue(condition: SQL): SQL<Date | null> {
  const oldestOfQueue = sql`
    select min(delivery.due_at) from ${webhookDeliveries} as delivery
    where delivery.application_id = queue.application_id and delivery.webhook_id = queue.webhook_id
      and delivery.due_at is not null`;
  const queues = sql`
    select (${oldestOfQueue}) as due_at from ${webhookQueues} as queue
    where queue.next_at is not null and ${condition}
    order by queue.next_at limit ${sql.raw(String(MAX_QUEUES))}`;
  return sql`(select min(due_at) from (${queues}) as queue)`.mapWith((instant: string | null) =>
    instant === null ? null : new Date(instant),
  );
}
