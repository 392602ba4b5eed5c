import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { webhookQueues, webhookSigningKeys, webhooks } from '../../database/webhook-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked } from '../validation.ts';
import { webhookId } from './ids.ts';
import { isOwnWebhook } from './webhook.ts';

const rules = { webhookId };

/**
 * Deletes a webhook. Nothing is sent to it from then on, except for attempts in flight. The expiry job removes its
 * deliveries.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`
 */
export async function deleteWebhook(
  { application, run }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<void> {
  const { webhookId } = check(request, rules);
  const [deleted] = await run(removeWebhook, { applicationId: application.id, webhookId });
  if (!deleted) throw new ServiceError('WEBHOOK_NOT_FOUND');
}

const removeWebhook: Statement<{ id: string }[]> = (db) => {
  const deleted = db.$with('deleted').as(db.delete(webhooks).where(isOwnWebhook).returning({ id: webhooks.id }));
  const isDeleted = sql`application_id = ${sql.placeholder('applicationId')} and webhook_id in (select id from deleted)`;
  const queue = db
    .$with('queue')
    .as(db.delete(webhookQueues).where(isDeleted).returning({ id: webhookQueues.webhookId }));
  const keys = db
    .$with('keys')
    .as(db.delete(webhookSigningKeys).where(isDeleted).returning({ id: webhookSigningKeys.id }));
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`deleted` });
  return db.with(deleted, audit, queue, keys).select({ id: deleted.id }).from(deleted).prepare('remove_webhook');
};
