import { sql } from 'drizzle-orm';
import { applications } from '../../database/schema.ts';
import { columnsOf, type RowOfType, statement } from '../../database/template.ts';
import { webhookQueues, webhooks } from '../../database/webhook-schema.ts';
import type { Call } from '../call.ts';

const { applicationId, id, url, ownerId } = webhooks;
const own = { applicationId, id, url, ownerId };

const FAILING = {
  ...own,
  /** Null if only tests and redeliveries have failed. */
  failingSince: webhookQueues.failingSince,
  applicationName: applications.name,
};

export type FailingWebhook = RowOfType<typeof FAILING>;

const MOST = 10;

/**
 * Returns the active webhooks, in all applications, whose last attempts failed and that are tried again: the ten that
 * have failed longest, and whether there are more.
 */
export async function listFailingWebhooks({
  run,
}: Pick<Call, 'run'>): Promise<{ readonly rows: readonly FailingWebhook[]; readonly hasMore: boolean }> {
  const found = await run(selectFailingWebhooks, {});
  return { rows: found.slice(0, MOST), hasMore: found.length > MOST };
}

const selectFailingWebhooks = statement('select_failing_webhooks', FAILING)`
  select ${columnsOf(own, 'w')}, q.failing_since, w.application_name
  from webhook_queues q cross join lateral (
    select ${columnsOf(own, 'w')}, a.name as application_name
    from webhooks w join applications a on a.id = w.application_id
    where w.application_id = q.application_id and w.id = q.webhook_id and w.is_active and a.deleted_at is null
    -- Looked up for each queue in the order of the index, instead of all to sort them.
    limit 1
  ) w
  where q.next_at is not null and q.failed_batches > 0
  order by q.failing_since, q.webhook_id limit ${sql.raw(String(MOST + 1))}`;
