/** Disables a webhook whose endpoint has failed for days or answered 410. */
import { sql } from 'drizzle-orm';
import { DAY_MS } from '../database/schema/table-facts.ts';
import { p, statement } from '../database/sql/template.ts';
import { auditEvent } from '../domain/audit/audit-event.ts';
import type { EndedAttempt } from './delivery-state.ts';

/** A webhook is disabled when every delivery has failed for this long. */
const MAX_FAILING_MS = 5 * DAY_MS;

/** Returns the reason to disable the webhook after these attempts, or undefined. */
export function reasonToDisable(
  completed: readonly EndedAttempt[],
  failingSince: Date | null,
  now: Date,
): string | undefined {
  if (completed.some(({ outcome }) => outcome.statusCode === 410)) return 'The endpoint answered with status 410';
  const isCounted = completed.some(({ delivery }) => !delivery.isManual);
  const failingMs = failingSince === null ? 0 : now.getTime() - failingSince.getTime();
  return isCounted && failingMs >= MAX_FAILING_MS ? 'Every delivery failed for 5 days' : undefined;
}

/** Keeps deliveries pending. Changes nothing if the webhook is inactive or deleted. Run this with `withAudit`. */
export const disableWebhook = statement('disable_webhook')`
  with disabled as (
    update webhooks set is_active = false, disabled_reason = ${p.text('reason')}, updated_at = ${p.instant('now')}
    where application_id = ${p.uuid('applicationId')} and id = ${p.text('webhookId')} and is_active
    returning id
  ), stopped as (
    update webhook_queues set next_at = null, lease = null
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and exists (select 1 from disabled)
  ), ${auditEvent({ resource: sql`id`, from: sql`disabled` })}
  select from disabled`;
