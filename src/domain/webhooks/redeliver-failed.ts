import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { type Rule, rule, Unacceptable } from '../core/rule.ts';
import { check, timestamp, type Unchecked } from '../core/validation.ts';
import { MAX_REDELIVERY_AGE_MS } from './delivery.ts';
import { explainRefusal, webhookId as webhookIdRule } from './get-webhook.ts';
import { lockActive } from './webhook.ts';

/**
 * Begins to deliver all messages again that have failed since an instant. The queue of the webhook stores the interval,
 * so a restart of Usher does not end the redelivery.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `Webhook is not active`, `Validation failed`
 * for an instant more than 14 days ago
 */
export async function redeliverFailed(call: ApplicationCall, request: Unchecked<'webhookId' | 'since'>): Promise<void> {
  const { application, run, now, onMessage } = call;
  const { webhookId, since } = check(request, { webhookId: webhookIdRule, since: recentInstant(now) });
  const [redelivery] = await run(beginRedelivery, { applicationId: application.id, webhookId, since, now });
  if (!redelivery) throw await explainRefusal(call, webhookId);
  onMessage?.(application.id);
}

function recentInstant(now: Date): Rule<Date> {
  return rule(timestamp.schema, (value) => {
    const instant = timestamp(value);
    if (instant.getTime() >= now.getTime() - MAX_REDELIVERY_AGE_MS) return instant;
    throw new Unacceptable('must be at most 14 days ago');
  });
}

const beginRedelivery = statement('begin_redelivery')`
  with target as (${lockActive}
  ), begun as (
    insert into webhook_queues as queue
      (application_id, webhook_id, next_at, wake_count, redeliver_since, redeliver_until)
    select ${p.uuid('applicationId')}, id, ${p.instant('now')}, 1, ${p.instant('since')}, ${p.instant('now')} from target
    on conflict (application_id, webhook_id) do update set
      wake_count = queue.wake_count + 1,
      next_at = case when queue.lease is null then excluded.next_at else queue.next_at end,
      redeliver_since = least(queue.redeliver_since, excluded.redeliver_since),
      redeliver_until = excluded.redeliver_until
    returning webhook_id
  ), ${auditEvent({ resource: sql`webhook_id`, from: sql`begun` })}
  select from begun`;
