import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { webhookDeliveries } from '../../database/webhook-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { check, type Unchecked } from '../validation.ts';
import { asDueAgain, MAX_REDELIVERY_AGE_MS, URGENT } from './delivery.ts';
import { explainRefusal } from './get-webhook.ts';
import { messageId, webhookId } from './ids.ts';
import { wakeQueues } from './wake-queue.ts';
import { lockActiveWebhook } from './webhook.ts';

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

const renewDelivery: Statement<{ id: string }[]> = (db) => {
  const { applicationId, webhookId, messageId } = placeholders('applicationId', 'webhookId', 'messageId');
  const target = lockActiveWebhook(db);
  const renewed = db.$with('renewed', { webhookId: sql<string>`webhook_id`.as('webhook_id') }).as(sql`
    update ${webhookDeliveries} as delivery
    set ${asDueAgain(URGENT)}
    from target
    where delivery.application_id = ${applicationId} and delivery.webhook_id = ${webhookId}
      and delivery.message_id = ${messageId} and delivery.created_at >= ${instantPlaceholder('since')}::timestamptz
    returning delivery.webhook_id`);
  const woken = wakeQueues(db, sql`renewed`, { isUrgent: true });
  const audit = insertAuditEvent(db, { resource: sql`webhook_id`, from: sql`renewed` });
  return db
    .with(target, renewed, audit, woken)
    .select({ id: renewed.webhookId })
    .from(renewed)
    .prepare('renew_delivery');
};
