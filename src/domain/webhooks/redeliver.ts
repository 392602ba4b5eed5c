import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { check, type Unchecked } from '../core/validation.ts';
import { wakeQueues } from '../outbox/wake-queue.ts';
import { asDueAgain, MAX_REDELIVERY_AGE_MS, messageId, URGENT } from './delivery.ts';
import { explainRefusal, webhookId } from './get-webhook.ts';
import { lockActive } from './webhook.ts';

const rules = { webhookId, messageId };

/**
 * Delivers a message of the last 14 days again, with a new retry schedule.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `Webhook is not active`, `Delivery not found`
 */
export async function redeliver(call: ApplicationCall, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { webhookId, messageId } = check(request, rules);
  const { application, run, now, onMessage } = call;
  const since = new Date(now.getTime() - MAX_REDELIVERY_AGE_MS);
  const [renewed] = await run(renewDelivery, { applicationId: application.id, webhookId, messageId, now, since });
  if (!renewed) throw await explainRefusal(call, webhookId);
  onMessage?.(application.id);
}

const renewDelivery = statement('renew_delivery')`
  with target as (${lockActive}
  ), renewed as (
    update webhook_deliveries as delivery set ${asDueAgain(URGENT)} from target
    where delivery.application_id = ${p.uuid('applicationId')} and delivery.webhook_id = ${p.text('webhookId')}
      and delivery.message_id = ${p.bigint('messageId')} and delivery.created_at >= ${p.instant('since')}
    returning delivery.webhook_id
  ), ${wakeQueues(sql`renewed`, { isUrgent: true })}, ${auditEvent({ resource: sql`webhook_id`, from: sql`renewed` })}
  select from renewed`;
