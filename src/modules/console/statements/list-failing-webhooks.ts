import { sql } from 'drizzle-orm';
import { webhookQueues } from '../../../database/schema/delivery-schema.ts';
import { applications } from '../../../database/schema/schema.ts';
import { webhooks } from '../../../database/schema/webhook-schema.ts';
import { columnsOf, type RowOfType, statement } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';

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
    select ${columnsOf(own, 'w')}, a.name as application_name
    from webhooks w join applications a on a.id = w.application_id
    where w.application_id = q.application_id and w.id = q.webhook_id and w.is_active and a.deleted_at is null
    -- The limit makes Postgres look up one webhook for each queue, in the order of the index, and sort nothing.
    limit 1
  ) w
  where q.next_at is not null and q.failed_batches > 0
  order by q.failing_since, q.webhook_id limit ${sql.raw(String(MAX_ROWS + 1))}`;
