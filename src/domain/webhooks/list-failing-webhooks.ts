import { applications } from '../../database/schema.ts';
import { type RowOfType, statement } from '../../database/template.ts';
import { webhookQueues, webhooks } from '../../database/webhook-schema.ts';
import type { Call } from '../call.ts';

const { applicationId, id, url, ownerId } = webhooks;

const FAILING = {
  ...{ applicationId, id, url, ownerId },
  /** Null if only tests and redeliveries have failed. */
  failingSince: webhookQueues.failingSince,
  applicationName: applications.name,
};

export type FailingWebhook = RowOfType<typeof FAILING>;

/** Returns ten at most of the active webhooks, in all applications, whose last attempts failed and that are tried again. */
export function listFailingWebhooks({ run }: Pick<Call, 'run'>): Promise<FailingWebhook[]> {
  return run(selectFailingWebhooks, {});
}

const selectFailingWebhooks = statement('select_failing_webhooks', FAILING)`
  select w.application_id, w.id, w.url, w.owner_id, q.failing_since, a.name as application_name
  from webhook_queues q
    join webhooks w on w.application_id = q.application_id and w.id = q.webhook_id
    join applications a on a.id = q.application_id
  where q.next_at is not null and q.failed_batches > 0 and w.is_active and a.deleted_at is null
  order by q.next_at limit 10`;
