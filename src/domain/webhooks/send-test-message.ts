import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { webhookDeliveries, webhookMessages } from '../../database/webhook-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { check, type Unchecked } from '../validation.ts';
import { URGENT } from './delivery.ts';
import { explainRefusal } from './get-webhook.ts';
import { toMessageId, webhookId } from './ids.ts';
import { wakeQueues } from './wake-queue.ts';
import { lockActiveWebhook } from './webhook.ts';

const rules = { webhookId };

/**
 * Sends a test message to the webhook, whatever it subscribes to. Returns the ID of the message.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `Webhook is not active`
 */
export async function sendTestMessage(
  call: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<{ messageId: string }> {
  const { webhookId } = check(request, rules);
  const { application, run, now, onMessage } = call;
  const payload = JSON.stringify({ type: 'webhook.test', timestamp: now.toISOString(), data: { webhookId } });
  const [inserted] = await run(insertTestMessage, { applicationId: application.id, webhookId, now, payload });
  if (!inserted) throw await explainRefusal(call, webhookId);
  onMessage?.(application.id);
  return { messageId: toMessageId(inserted.id) };
}

/** Returns no row if there is no such webhook, or if it is not active. */
const insertTestMessage: Statement<{ id: string }[]> = (db) => {
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const target = lockActiveWebhook(db);
  const message = db.$with('message', { id: sql<string>`id`.as('id') }).as(sql`
    insert into ${webhookMessages} (application_id, type, payload, created_at, fanned_out_to)
    select ${sql.placeholder('applicationId')}::uuid, 'webhook.test', ${sql.placeholder('payload')}::text, ${now}, null
    from target returning id`);
  const delivery = db.$with('delivery', {}).as(sql`
    insert into ${webhookDeliveries} (application_id, webhook_id, message_id, created_at, due_at, is_manual)
    select ${sql.placeholder('applicationId')}::uuid, target.id, message.id, ${now}, ${URGENT}, true from target, message
    returning webhook_id`);
  const woken = wakeQueues(db, sql`delivery`, { isUrgent: true });
  const audit = insertAuditEvent(db, { resource: sql`webhook_id`, from: sql`delivery` });
  return db
    .with(target, message, delivery, audit, woken)
    .select({ id: sql<string>`${message.id}::text` })
    .from(message)
    .prepare('insert_test_message');
};
