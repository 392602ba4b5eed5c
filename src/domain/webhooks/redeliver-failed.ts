import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { webhookQueues } from '../../database/webhook-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { type Rule, rule, Unacceptable } from '../rule.ts';
import { instantText } from '../text-rules.ts';
import { check, type Unchecked } from '../validation.ts';
import { MAX_REDELIVERY_AGE_MS } from './delivery.ts';
import { explainRefusal } from './get-webhook.ts';
import { webhookId as webhookIdRule } from './ids.ts';
import { lockActiveWebhook } from './webhook.ts';

/**
 * Has all messages since an instant delivered again that have failed. The job is kept in the queue of the webhook, so
 * that it survives the process.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `Webhook is not active`, `Validation failed`
 * for an instant more than 14 days ago
 */
export async function redeliverFailed(call: ApplicationCall, request: Unchecked<'webhookId' | 'since'>): Promise<void> {
  const { application, run, now, onMessage } = call;
  const { webhookId, since } = check(request, { webhookId: webhookIdRule, since: recentInstant(now) });
  const [begun] = await run(beginRedelivery, { applicationId: application.id, webhookId, since, now });
  if (!begun) throw await explainRefusal(call, webhookId);
  onMessage?.(application.id);
}

function recentInstant(now: Date): Rule<Date> {
  return rule(instantText.schema, (value) => {
    const instant = instantText(value);
    if (instant.getTime() >= now.getTime() - MAX_REDELIVERY_AGE_MS) return instant;
    throw new Unacceptable('must be at most 14 days ago');
  });
}

const beginRedelivery: Statement<{ id: string }[]> = (db) => {
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const target = lockActiveWebhook(db);
  const begun = db.$with('begun', { webhookId: sql<string>`webhook_id`.as('webhook_id') }).as(sql`
    insert into ${webhookQueues} as queue
      (application_id, webhook_id, next_at, wake_count, redeliver_since, redeliver_until)
    select ${sql.placeholder('applicationId')}::uuid, target.id, ${now}, 1,
      ${instantPlaceholder('since')}::timestamptz, ${now}
    from target
    on conflict (application_id, webhook_id) do update set
      wake_count = queue.wake_count + 1,
      next_at = case when queue.lease is null then excluded.next_at else queue.next_at end,
      redeliver_since = least(queue.redeliver_since, excluded.redeliver_since),
      redeliver_until = excluded.redeliver_until
    returning webhook_id`);
  const audit = insertAuditEvent(db, { resource: sql`webhook_id`, from: sql`begun` });
  return db.with(target, begun, audit).select({ id: begun.webhookId }).from(begun).prepare('begin_redelivery');
};
