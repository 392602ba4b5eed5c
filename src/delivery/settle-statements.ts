import { type SQL, sql } from 'drizzle-orm';
import { webhookQueues } from '../database/schema/delivery-schema.ts';
import { p, type RowOfType, statement } from '../database/sql/template.ts';
import { isDeliverable } from './queue.ts';

/** The most deliveries of one queue that are sent at a time. */
const MAX_BATCH_SIZE = 32;

/** The new state of a delivery, with column names as keys. */
export interface DeliveryState {
  readonly message_id: string;
  readonly status: 'pending' | 'succeeded' | 'failed';
  /** When the delivery is attempted again. Null if it is no longer pending. */
  readonly due_at: Date | null;
  /** `firstEnd` of the lease, while a slow attempt is in flight. */
  readonly lease_end: Date | null;
  readonly status_code: number | null;
  readonly error: string | null;
  readonly attempt_count: number;
  readonly schedule_index: number;
}

/** The instant since which every attempt has failed. */
const RELEASED = { failingSince: webhookQueues.failingSince };

export type Released = RowOfType<typeof RELEASED>;

/**
 * The result of a batch. `refused`: the endpoint works, but has accepted no message. `failure`: the endpoint fails.
 * `slow`: all attempts are still in flight.
 */
export type BatchOutcome = 'success' | 'refused' | 'failure' | 'slow';

/** Null if nothing was attempted. Comparisons with it are null then, too. */
const outcome = p.text('outcome');
const hasSucceeded = sql`${outcome} = 'success'`;
/** Refused messages follow their own schedules, and do not delay others. */
const works = sql`${outcome} in ('success', 'refused')`;
const hasFailed = sql`${outcome} = 'failure'`;
const largerBatch = sql`least(queue.batch_size * 2, ${sql.raw(`${MAX_BATCH_SIZE}`)})`;

/** Selects `due_at` of the pending deliveries that have no result in this batch. */
const selectOthersDue = sql`
  select due_at from webhook_deliveries
  where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')} and due_at is not null
    and message_id not in (select message_id from result)`;

/**
 * Settles a batch and releases its queue, unless another process has taken the lease.
 *
 * Parameters: applicationId, webhookId, lease, now, wakeCount as claimed, results, inOrder, outcome (null if nothing was
 * attempted), isCounted, isQuick, notBefore (or null).
 */
export const settleBatch = statement('settle_batch', RELEASED)`
  with held as (
    select webhook_id from webhook_queues
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and lease = ${p.uuid('lease')}
    for update
  ), ${storeResults(sql`exists (select 1 from held)`)}, next as (
    select case when ${p.boolean('inOrder')}
      then coalesce(retry.due_at, (${selectOthersDue} order by message_id limit 1))
      else least(retry.due_at, (${selectOthersDue} order by due_at, message_id limit 1)) end as due_at
    from webhooks as webhook, (select min(due_at) as due_at from result) as retry
    where application_id = ${p.uuid('applicationId')} and id = ${p.text('webhookId')} and ${isDeliverable(sql`webhook`)}
  ), released as (
    update webhook_queues as queue set
      lease = null,
      next_at = case
        when queue.is_urgent then ${p.instant('now')}
        -- The queue was woken since its claim. This statement may not see the new delivery.
        when queue.wake_count <> ${p.bigint('wakeCount')} or queue.redeliver_since is not null
          then greatest(${p.instant('now')}, ${p.instant('notBefore')})
        else (select greatest(${p.instant('now')}, due_at, ${p.instant('notBefore')}) from next where due_at is not null)
      end,
      batch_size = case when ${hasFailed} then 1 when ${works} then ${largerBatch} else queue.batch_size end,
      is_quick = case when ${outcome} is null then queue.is_quick else ${works} and ${p.boolean('isQuick')} end,
      failed_batches = case
        when ${hasFailed} then queue.failed_batches + 1 when ${works} then 0 else queue.failed_batches end,
      failing_since = case
        when ${hasSucceeded} then null
        when ${outcome} is not null and ${p.boolean('isCounted')} then coalesce(queue.failing_since, ${p.instant('now')})
        else queue.failing_since end
    from held
    where queue.application_id = ${p.uuid('applicationId')} and queue.webhook_id = ${p.text('webhookId')}
    returning queue.failing_since
  )
  select failing_since from released`;

/** A failure does not count if an attempt has succeeded since the release: the success has cleared `failing_since`. */
const countsAsFailure = sql`(${hasFailed} and queue.failing_since <= ${p.instant('releasedAt')})`;

/**
 * Settles slow deliveries of the lease whose `firstEnd` is `leaseEnd`, unless the lease has expired, and wakes the queue.
 * Attempts that fail at the same time count as one failed batch.
 *
 * Parameters: applicationId, webhookId, now, results, outcome (null if nothing was attempted),
 * leaseEnd, releasedAt, notBefore.
 */
export const settleSlow = statement('settle_slow', RELEASED)`
  with ${storeResults(sql`delivery.lease_end = ${p.instant('leaseEnd')} and delivery.due_at > ${p.instant('now')}`)},
  woken as (
    update webhook_queues as queue set
      wake_count = queue.wake_count + 1,
      next_at = case
        when queue.lease is not null or queue.is_urgent then queue.next_at
        when ${countsAsFailure} then greatest(queue.next_at, ${p.instant('notBefore')})
        when queue.failed_batches > 0 and ${works} is not true then queue.next_at
        else ${p.instant('now')} end,
      batch_size = case
        when ${countsAsFailure} then 1 when ${works} then ${largerBatch} else queue.batch_size end,
      failed_batches = case
        when ${countsAsFailure} then greatest(queue.failed_batches, 1) when ${works} then 0
        else queue.failed_batches end,
      failing_since = case when ${hasSucceeded} then null else queue.failing_since end
    where queue.application_id = ${p.uuid('applicationId')} and queue.webhook_id = ${p.text('webhookId')}
      and exists (select 1 from settled)
    returning queue.failing_since
  )
  select failing_since from woken`;

/** Returns the CTEs `result`, the rows of the parameter `results`, and `settled`, which stores them where `condition` holds. */
function storeResults(condition: SQL): SQL {
  return sql`
    result as (
      select * from json_to_recordset(${p.json('results')}) as result (message_id bigint, status text,
        due_at timestamptz, lease_end timestamptz, status_code smallint, error text, attempt_count integer,
        schedule_index smallint)
    ), settled as (
      update webhook_deliveries as delivery set
        status = result.status, due_at = result.due_at, lease_end = result.lease_end,
        last_status_code = result.status_code, last_error = result.error, attempt_count = result.attempt_count,
        schedule_index = result.schedule_index
      from result
      where delivery.application_id = ${p.uuid('applicationId')} and delivery.webhook_id = ${p.text('webhookId')}
        and delivery.message_id = any(array(select message_id from result))
        and delivery.message_id = result.message_id and ${condition}
      returning delivery.message_id
    )`;
}
