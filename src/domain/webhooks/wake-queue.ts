import { type SQL, sql } from 'drizzle-orm';
import type { Db } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { webhookQueues } from '../../database/webhook-schema.ts';

/**
 * Returns the CTE `woken`, which makes the queues of webhooks due that have new deliveries. The holder of a lease
 * learns it from the count; an endpoint that fails is left alone until its next probe, unless the delivery is urgent.
 *
 * @param from what follows `from`, with a column `webhook_id`
 */
export function wakeQueues(db: Db, from: SQL, { isUrgent = false } = {}) {
  const urgent = sql.raw(String(isUrgent));
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  return db.$with('woken', {}).as(sql`
    insert into ${webhookQueues} as queue (application_id, webhook_id, next_at, wake_count, is_urgent)
    select ${sql.placeholder('applicationId')}::uuid, webhook_id, ${now}, 1, ${urgent} from ${from}
    group by webhook_id order by webhook_id
    on conflict (application_id, webhook_id) do update set
      wake_count = queue.wake_count + 1,
      is_urgent = queue.is_urgent or ${urgent},
      next_at = case
        when queue.lease is not null then queue.next_at
        when queue.failed_batches > 0 and queue.next_at is not null and not ${urgent} then queue.next_at
        else least(queue.next_at, excluded.next_at)
      end
    returning webhook_id`);
}
