/** The statements that settle deliveries and release their queue. */
import { type SQL, sql } from 'drizzle-orm';
import { type Db, placeholders, type RowOf, type Statement } from '../database/database.ts';
import { webhookAttempts, webhookDeliveries, webhookQueues, webhooks } from '../database/webhook-schema.ts';
import { isDeliverable } from './queue.ts';

/** The most deliveries of one queue that are sent at a time. */
const MAX_BATCH_SIZE = 32;

/** The new state of a delivery, with the names of its columns. */
export interface DeliveryState {
  readonly message_id: string;
  readonly status: 'pending' | 'succeeded' | 'failed';
  /** When it is attempted again. */
  readonly due_at: Date | null;
  /** `firstEnd` of the lease, while a slow attempt is in flight. */
  readonly lease_end: Date | null;
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
  /** The user whom the response body may mention. */
  readonly user_id: string | null;
}

/** Parameters: applicationId, webhookId, attempts as JSON. */
export const insertAttempts: Statement<unknown> = (db) => {
  const logged = db.$with('logged', { id: sql`id`.as('id') }).as(sql`
    insert into ${webhookAttempts}
      (application_id, webhook_id, message_id, attempted_at, duration_ms, status_code, error, response_body,
        user_id)
    select ${sql.placeholder('applicationId')}::uuid, ${sql.placeholder('webhookId')}::text, attempt.*
    from json_to_recordset(${sql.placeholder('attempts')}::json) as attempt (message_id bigint,
      attempted_at timestamptz, duration_ms integer, status_code smallint, error text, response_body text, user_id uuid)
    returning id`);
  return db.with(logged).select({ id: logged.id }).from(logged).prepare('insert_attempts');
};

/** Since when every attempt has failed. */
const releasedColumns = { failingSince: sql<string | null>`failing_since`.as('failing_since') };

export type Released = RowOf<typeof releasedColumns>;

/** The result of a batch. `slow`: all attempts are still in flight. */
export type BatchOutcome = 'success' | 'failure' | 'slow';

/**
 * Settles a batch and releases its queue, unless another process has taken the lease. The queue is due when its next
 * delivery is, or at once if it was woken meanwhile: this statement may not see the new delivery.
 *
 * Parameters: applicationId, webhookId, lease, now, wakeCount as claimed, results as JSON, inOrder, outcome (null if
 * nothing was attempted), isCounted, isQuick, and retryAt (the first of the new due instants) and notBefore, or null.
 */
export const settleBatch: Statement<Released[]> = (db) => {
  const { applicationId, webhookId, lease, wakeCount } = placeholders(
    'applicationId',
    'webhookId',
    'lease',
    'wakeCount',
  );
  const { inOrder, isCounted, isQuick } = placeholders('inOrder', 'isCounted', 'isQuick');
  const [now, retryAt, notBefore] = [instant('now'), instant('retryAt'), instant('notBefore')];
  const held = db.$with('held', {}).as(sql`
    select webhook_id from ${webhookQueues}
    where application_id = ${applicationId} and webhook_id = ${webhookId} and lease = ${lease}::uuid for update`);
  const { result, settled } = settleDeliveries(db, sql`exists (select 1 from held)`);
  const others = sql`
    select due_at from ${webhookDeliveries}
    where application_id = ${applicationId} and webhook_id = ${webhookId} and due_at is not null
      and message_id not in (select message_id from result)`;
  const nextDue = sql`case when ${inOrder}::boolean
    then coalesce(${retryAt}, (${others} order by message_id limit 1))
    else least(${retryAt}, (${others} order by due_at, message_id limit 1)) end`;
  const isActive = sql`(select ${isDeliverable} from ${webhooks}
    where application_id = ${applicationId} and id = ${webhookId})`;
  const released = db.$with('released', releasedColumns).as(sql`
    update ${webhookQueues} as queue set
      lease = null,
      next_at = case
        when queue.is_urgent then ${now}
        when queue.wake_count <> ${wakeCount}::bigint or queue.redeliver_since is not null then greatest(${now}, ${notBefore})
        when ${isActive} then (
          select greatest(${now}, due, ${notBefore}) from (select ${nextDue} as due) next where due is not null)
      end,
      batch_size = case when ${outcome} = 'failure' then 1 when ${outcome} = 'success' then ${largerBatch} else queue.batch_size end,
      is_quick = case when ${outcome} is null then queue.is_quick else ${outcome} = 'success' and ${isQuick}::boolean end,
      failed_batches = case when ${outcome} = 'failure' then queue.failed_batches + 1 when ${outcome} = 'success' then 0
        else queue.failed_batches end,
      failing_since = case when ${outcome} = 'success' then null
        when ${outcome} is not null and ${isCounted}::boolean then coalesce(queue.failing_since, ${now})
        else queue.failing_since end
    from held
    where queue.application_id = ${applicationId} and queue.webhook_id = ${webhookId}
    returning queue.failing_since`);
  return db.with(held, result, settled, released).select().from(released).prepare('settle_batch');
};

/**
 * Settles slow deliveries of the lease whose `firstEnd` is `leaseEnd`, unless it has expired, and wakes their queue. A
 * failure does not count if an attempt has succeeded since the release. Simultaneous failures count once.
 *
 * Parameters: applicationId, webhookId, now, results as JSON, outcome (success, failure, or null if nothing was
 * attempted), leaseEnd, releasedAt, notBefore.
 */
export const settleSlow: Statement<Released[]> = (db) => {
  const { applicationId, webhookId } = placeholders('applicationId', 'webhookId');
  const [now, leaseEnd] = [instant('now'), instant('leaseEnd')];
  const { result, settled } = settleDeliveries(db, sql`delivery.lease_end = ${leaseEnd} and delivery.due_at > ${now}`);
  const isFailing = sql`(${outcome} = 'failure' and queue.failing_since <= ${instant('releasedAt')})`;
  const woken = db.$with('woken', releasedColumns).as(sql`
    update ${webhookQueues} as queue set
      wake_count = queue.wake_count + 1,
      next_at = case
        when queue.lease is not null or queue.is_urgent then queue.next_at
        when ${isFailing} then greatest(queue.next_at, ${instant('notBefore')})
        when queue.failed_batches > 0 and ${outcome} is distinct from 'success' then queue.next_at
        else ${now} end,
      batch_size = case when ${isFailing} then 1 when ${outcome} = 'success' then ${largerBatch} else queue.batch_size end,
      failed_batches = case when ${isFailing} then greatest(queue.failed_batches, 1)
        when ${outcome} = 'success' then 0 else queue.failed_batches end,
      failing_since = case when ${outcome} = 'success' then null else queue.failing_since end
    where queue.application_id = ${applicationId} and queue.webhook_id = ${webhookId}
      and exists (select 1 from settled)
    returning queue.failing_since`);
  return db.with(result, settled, woken).select().from(woken).prepare('settle_slow');
};

const outcome = sql`${sql.placeholder('outcome')}::text`;
const largerBatch = sql`least(queue.batch_size * 2, ${sql.raw(String(MAX_BATCH_SIZE))})`;

/** In ISO 8601, or null. */
const instant = (name: string) => sql`${sql.placeholder(name)}::timestamptz`;

/** Returns the CTEs `result`, which reads the placeholder `results`, and `settled`, which writes it to `delivery`. */
function settleDeliveries(db: Db, condition: SQL) {
  const { applicationId, webhookId, results } = placeholders('applicationId', 'webhookId', 'results');
  const result = db.$with('result', {}).as(sql`
    select * from json_to_recordset(${results}::json) as result (message_id bigint, status text,
      due_at timestamptz, lease_end timestamptz, status_code smallint, error text, attempt_count integer,
      schedule_index smallint)`);
  const settled = db.$with('settled', {}).as(sql`
    update ${webhookDeliveries} as delivery set
      status = result.status, due_at = result.due_at, lease_end = result.lease_end,
      last_status_code = result.status_code, last_error = result.error, attempt_count = result.attempt_count,
      schedule_index = result.schedule_index
    from result
    where delivery.application_id = ${applicationId} and delivery.webhook_id = ${webhookId}
      and delivery.message_id = any(array(select message_id from result)) and delivery.message_id = result.message_id
      and ${condition}
    returning delivery.message_id`);
  return { result, settled };
}
