import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked } from '../core/validation.ts';
import { webhookId } from './get-webhook.ts';

const rules = { webhookId };

/**
 * Deletes a webhook. Attempts in flight go on, but no new one begins. The expiry job removes its
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

const removeWebhook = statement('remove_webhook')`
  with deleted as (
    delete from webhooks where application_id = ${p.uuid('applicationId')} and id = ${p.text('webhookId')} returning id
  ), queue as (
    delete from webhook_queues
    where application_id = ${p.uuid('applicationId')} and webhook_id in (select id from deleted)
  ), keys as (
    delete from webhook_signing_keys
    where application_id = ${p.uuid('applicationId')} and webhook_id in (select id from deleted)
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted` })}
  select from deleted`;
