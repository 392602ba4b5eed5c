/** Disables a webhook whose endpoint has failed for days or answered 410. */
import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../database/database.ts';
import { instantPlaceholder } from '../database/schema.ts';
import { webhookQueues, webhooks } from '../database/webhook-schema.ts';
import { insertAuditEvent } from '../domain/audit/audit-event.ts';

const DAY_MS = 24 * 60 * 60_000;

/** A webhook is disabled when every delivery has failed for this long. */
export const MAX_FAILING_MS = 5 * DAY_MS;

export const DISABLED_REASONS = {
  gone: 'The endpoint answered with status 410',
  failing: 'Every delivery failed for 5 days',
};

/** Deliveries stay pending. Changes nothing if the webhook is inactive or deleted. Run it with `withAudit`. */
export const disableWebhook: Statement<{ id: string }[]> = (db) => {
  const { applicationId, webhookId, reason } = placeholders('applicationId', 'webhookId', 'reason');
  const disabled = db.$with('disabled', { id: sql<string>`id`.as('id') }).as(sql`
    update ${webhooks} set is_active = false, disabled_reason = ${reason}::text,
      updated_at = ${instantPlaceholder('now')}::timestamptz
    where application_id = ${applicationId} and id = ${webhookId} and is_active
    returning id`);
  const stopped = db.$with('stopped', {}).as(sql`
    update ${webhookQueues} set next_at = null, lease = null
    where application_id = ${applicationId} and webhook_id = ${webhookId} and exists (select 1 from disabled)
    returning webhook_id`);
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`disabled` });
  return db.with(disabled, audit, stopped).select({ id: disabled.id }).from(disabled).prepare('disable_webhook');
};
