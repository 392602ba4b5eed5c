import { sql } from 'drizzle-orm';
import { webhooks } from '../../database/schema/webhook-schema.ts';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import {
  changedValues,
  changeParameters,
  changes,
  createVersionReader,
  hasExpectedVersion,
  isChanged,
  requireExpected,
  versionParameter,
} from '../core/changes.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked } from '../core/validation.ts';
import type { RowCipher } from '../crypto/aes-gcm.ts';
import type { AddressPolicy } from './address-policy.ts';
import { decryptWebhook, STORED, webhookId as webhookIdRule } from './get-webhook.ts';
import { selectOwner, summarySelection, type Webhook, webhookRules } from './webhook.ts';

/**
 * Changes a webhook and returns it. If it becomes active again, or gets another URL, its queue is due at once.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `Changed meanwhile`, `User not found` for a new
 * owner who is no user of the application
 */
export async function updateWebhook(
  call: ApplicationCall,
  { cipher, policy }: { readonly cipher: RowCipher; readonly policy: AddressPolicy },
  request: Unchecked<'webhookId' | keyof ReturnType<typeof webhookRules>>,
): Promise<Webhook> {
  const { application, run, now, onMessage } = call;
  const { webhookId, ...given } = check(request, { webhookId: webhookIdRule, ...changes(webhookRules(policy)) });
  const ids = { applicationId: application.id, webhookId };
  const parameters = { ...ids, now, ...versionParameter(call), ...changeParameters(given) };
  const [updated] = await run(updateChangedWebhook, parameters);
  if (!updated) throw new ServiceError('WEBHOOK_NOT_FOUND');
  requireExpected(updated);
  if (!updated.hasOwner) throw new ServiceError('USER_NOT_FOUND');
  onMessage?.(application.id);
  const { hasOwner: _, isExpected: __, ...webhook } = updated;
  return decryptWebhook(call, cipher, webhook);
}

const { url, ownerId, isActive, eventTypes, ordered, description, disabledReason } = webhooks;
const CHANGEABLE = { url, ownerId, isActive, eventTypes, ordered, description };
const CHANGED = { ...CHANGEABLE, disabledReason };

/**
 * Values that the webhook has already cause no update and no audit event. Returns the webhook, because another call may
 * change or delete it before a later statement.
 */
const updateChangedWebhook = statement('update_changed_webhook', {
  ...STORED,
  hasOwner: t.boolean,
  isExpected: t.boolean,
})`
  with before as (
    select id, ${columnsOf(CHANGED)}, signing_key, created_at, updated_at, ${hasExpectedVersion(CHANGEABLE)} as is_expected from webhooks
    where application_id = ${p.uuid('applicationId')} and id = ${p.text('webhookId')}
    for no key update
  ), after as (
    select id, ${changedValues(CHANGEABLE)}, case when not ${isChanged('isActive')} then disabled_reason end as disabled_reason
    from before
  ), owned as (
    select after.owner_id = before.owner_id or exists (${selectOwner}) as has_owner, is_expected
    from before, after
  ), updated as (
    update webhooks as webhook
    set (${columnsOf(CHANGED)}, updated_at) = row(${columnsOf(CHANGED, 'after')}, ${p.instant('now')})
    from before, after, owned
    where webhook.application_id = ${p.uuid('applicationId')} and webhook.id = ${p.text('webhookId')}
      and row(${columnsOf(CHANGED, 'before')}) is distinct from row(${columnsOf(CHANGED, 'after')})
      and has_owner and before.is_expected
    returning webhook.id, webhook.updated_at
  ), queue as (
    update webhook_queues as queue set
      wake_count = queue.wake_count + 1, failed_batches = 0, failing_since = null,
      next_at = case when queue.lease is not null then queue.next_at when after.is_active then ${p.instant('now')} end
    from updated, before, after
    where queue.application_id = ${p.uuid('applicationId')} and queue.webhook_id = updated.id
      and (after.is_active, after.url) <> (before.is_active, before.url)
  ), shown as (
    select before.id, ${columnsOf(CHANGED, 'after')}, before.signing_key, before.created_at,
      coalesce(updated.updated_at, before.updated_at) as updated_at
    from before cross join after left join updated on true
  ), ${auditEvent({ resource: sql`id`, from: sql`updated` })}
  select ${summarySelection}, signing_key, has_owner, is_expected
  from shown as webhooks cross join owned left join users on users.id = webhooks.owner_id`;

const readVersion = createVersionReader(
  'select_webhook_version',
  CHANGEABLE,
  sql`webhooks where application_id = ${p.uuid('applicationId')} and id = ${p.text('webhookId')}`,
);

/** Returns the version for `ifVersion` of a later `updateWebhook`, or undefined if there is no such webhook. */
export function readWebhookVersion(
  call: ApplicationCall,
  request: Unchecked<'webhookId'>,
): Promise<string | undefined> {
  const { webhookId } = check(request, { webhookId: webhookIdRule });
  return readVersion(call, { applicationId: call.application.id, webhookId });
}
