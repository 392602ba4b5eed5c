import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { check, type Unchecked } from '../core/validation.ts';
import { wakeQueues } from '../outbox/wake-queue.ts';
import { toMessageId, URGENT } from './delivery.ts';
import { explainRefusal, webhookId } from './get-webhook.ts';
import { lockActive } from './webhook.ts';

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
const insertTestMessage = statement('insert_test_message', { id: t.bigint })`
  with target as (${lockActive}
  ), message as (
    insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
    select ${p.uuid('applicationId')}, 'webhook.test', ${p.text('payload')}, ${p.instant('now')}, null from target
    returning id
  ), delivery as (
    insert into webhook_deliveries (application_id, webhook_id, message_id, created_at, due_at, is_manual)
    select ${p.uuid('applicationId')}, target.id, message.id, ${p.instant('now')}, ${URGENT}, true from target, message
    returning webhook_id
  ), ${wakeQueues(sql`delivery`, { isUrgent: true })}, ${auditEvent({ resource: sql`webhook_id`, from: sql`delivery` })}
  select id from message`;
