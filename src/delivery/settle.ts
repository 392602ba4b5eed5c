/** Writes down what has become of a batch, and releases the queue. */
import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../database/database.ts';
import { instantPlaceholder } from '../database/schema.ts';
import { webhookAttempts, webhookDeliveries, webhookQueues, webhooks } from '../database/webhook-schema.ts';

/** The most deliveries of one queue that are sent at a time. */
const MAX_BATCH_SIZE = 32;

/** The new state of a delivery that was attempted, named as its columns. */
export interface Result {
  readonly message_id: string;
  readonly status: 'pending' | 'succeeded' | 'failed';
  /** When it is attempted again. */
  readonly due_at: Date | null;
  readonly status_code: number | null;
  readonly error: string | null;
  readonly attempt_count: number;
  readonly schedule_index: number;
}

export interface LoggedAttempt {
  readonly message_id: string;
  readonly attempted_at: Date;
  readonly duration_ms: number;
  readonly status_code: number | null;
  readonly error: string | null;
  readonly response_body: string | null;
}

/** Parameters: applicationId, webhookId, attempts as JSON. */
export const insertAttempts: Statement<unknown> = (db) => {
  const logged = db.$with('logged', { id: sql`id`.as('id') }).as(sql`
    insert into ${webhookAttempts}
      (application_id, webhook_id, message_id, attempted_at, duration_ms, status_code, error, response_body)
    select ${sql.placeholder('applicationId')}::uuid, ${sql.placeholder('webhookId')}::text, attempt.*
    from json_to_recordset(${sql.placeholder('attempts')}::json) as attempt (message_id bigint,
      attempted_at timestamptz, duration_ms integer, status_code smallint, error text, response_body text)
    returning id`);
  return db.with(logged).select({ id: logged.id }).from(logged).prepare('insert_attempts');
};

export interface Released {
  /** Since when there have been nothing but failures. */
  readonly failingSince: string | null;
}

/**
 * Does nothing if the lease has passed to another process. Otherwise the queue is due again when its next delivery is;
 * at once if it was woken meanwhile, since this statement may not see the reason.
 *
 * Parameters: applicationId, webhookId, lease, now, wakeCount as claimed, results as JSON, inOrder, isFailure (null if
 * nothing was attempted), isCounted, and as ISO 8601 or null retryAt (the first of the new due instants) and notBefore.
 */
export const settleBatch: Statement<Released[]> = (db) => {
  const { applicationId, webhookId, lease, results } = placeholders('applicationId', 'webhookId', 'lease', 'results');
  const { wakeCount, inOrder, isFailure, isCounted } = placeholders('wakeCount', 'inOrder', 'isFailure', 'isCounted');
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const retryAt = sql`${sql.placeholder('retryAt')}::timestamptz`;
  const notBefore = sql`${sql.placeholder('notBefore')}::timestamptz`;
  const columns = (name: string) => ({ [name]: sql`${sql.identifier(name)}`.as(name) });

  const held = db.$with('held', columns('webhook_id')).as(sql`
    select webhook_id from ${webhookQueues}
    where application_id = ${applicationId} and webhook_id = ${webhookId} and lease = ${lease}::uuid for update`);
  const result = db.$with('result', columns('message_id')).as(sql`
    select * from json_to_recordset(${results}::json) as result (message_id bigint, status text,
      due_at timestamptz, status_code smallint, error text, attempt_count integer, schedule_index smallint)`);
  const settled = db.$with('settled', columns('message_id')).as(sql`
    update ${webhookDeliveries} as delivery set
      status = result.status, due_at = result.due_at, last_status_code = result.status_code,
      last_error = result.error, attempt_count = result.attempt_count, schedule_index = result.schedule_index
    from result, held
    where delivery.application_id = ${applicationId} and delivery.webhook_id = ${webhookId}
      and delivery.message_id = any(array(select message_id from result)) and delivery.message_id = result.message_id
    returning delivery.message_id`);
  const others = sql`
    select due_at from ${webhookDeliveries}
    where application_id = ${applicationId} and webhook_id = ${webhookId} and due_at is not null
      and message_id not in (select message_id from result)`;
  const nextDue = sql`case when ${inOrder}::boolean
    then coalesce(${retryAt}, (${others} order by message_id limit 1))
    else least(${retryAt}, (${others} order by due_at, message_id limit 1)) end`;
  const isActive = sql`(select is_active from ${webhooks}
    where application_id = ${applicationId} and id = ${webhookId})`;
  const released = db.$with('released', columns('failing_since')).as(sql`
    update ${webhookQueues} as queue set
      lease = null,
      next_at = case
        when queue.is_urgent then ${now}
        when queue.wake_count <> ${wakeCount}::bigint or queue.redeliver_since is not null then greatest(${now}, ${notBefore})
        when ${isActive} then (select greatest(due, ${notBefore}) from (select ${nextDue} as due) next where due is not null)
      end,
      batch_size = case
        when ${isFailure}::boolean then 1
        when not ${isFailure}::boolean then least(queue.batch_size * 2, ${sql.raw(String(MAX_BATCH_SIZE))})
        else queue.batch_size end,
      failed_batches = case
        when ${isFailure}::boolean then queue.failed_batches + 1
        when not ${isFailure}::boolean then 0
        else queue.failed_batches end,
      failing_since = case
        when not ${isFailure}::boolean then null
        when ${isFailure}::boolean and ${isCounted}::boolean then coalesce(queue.failing_since, ${now})
        else queue.failing_since end
    from held
    where queue.application_id = ${applicationId} and queue.webhook_id = ${webhookId}
    returning queue.failing_since`);
  return db
    .with(held, result, settled, released)
    .select({ failingSince: sql<string | null>`failing_since` })
    .from(released)
    .prepare('settle_batch');
};
