import { type SQL, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';

/**
 * Returns the CTE `woken`, which makes queues with new deliveries due. A process that holds the lease of a queue sees
 * the change of `wake_count`. A failing endpoint is not tried before its next probe, unless the delivery is urgent.
 *
 * @param deliveries a CTE with a column `webhook_id`
 */
export function wakeQueues(deliveries: SQL, { isUrgent = false } = {}): SQL {
  const urgent = sql.raw(`${isUrgent}`);
  return sql`woken as (
    insert into webhook_queues as queue (application_id, webhook_id, next_at, wake_count, is_urgent)
    select ${p.uuid('applicationId')}, webhook_id, ${p.instant('now')}, 1, ${urgent} from ${deliveries}
    -- Equivalent: order: two that meet lock in the same order either way
    group by webhook_id order by webhook_id
    on conflict (application_id, webhook_id) do update set
      wake_count = queue.wake_count + 1,
      is_urgent = queue.is_urgent or ${urgent},
      next_at = case
        when queue.lease is not null then queue.next_at
        when queue.failed_batches > 0 and queue.next_at is not null and not ${urgent} then queue.next_at
        else least(queue.next_at, excluded.next_at)
      end
    returning webhook_id
  )`;
}
