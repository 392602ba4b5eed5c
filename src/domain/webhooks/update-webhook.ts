import { and, eq, exists, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { webhookQueues, webhooks } from '../../database/webhook-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { changeParameters, differ, setChanges } from '../changes.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked } from '../validation.ts';
import type { AddressPolicy } from './address-policy.ts';
import { getWebhook } from './get-webhook.ts';
import { webhookId as webhookIdRule } from './ids.ts';
import type { SigningKeyCipher } from './signing-key-cipher.ts';
import { isOwner, isOwnWebhook, type Webhook, webhookChangeRules } from './webhook.ts';

const CHANGEABLE = ['url', 'ownerId', 'isActive', 'eventTypes', 'ordered', 'description'] as const;

/**
 * Changes a webhook and returns it. One that is made active again, or that gets another URL, is tried at once.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `User not found` for a new owner who is no
 * user of the application
 */
export async function updateWebhook(
  call: ApplicationCall,
  { cipher, policy }: { readonly cipher: SigningKeyCipher; readonly policy: AddressPolicy },
  request: Unchecked<(typeof CHANGEABLE)[number] | 'webhookId'>,
): Promise<Webhook> {
  const { application, run, now, onMessage } = call;
  const { webhookId, ...changes } = check(request, { webhookId: webhookIdRule, ...webhookChangeRules(policy) });
  const parameters = { applicationId: application.id, webhookId, now, ...changeParameters(changes) };
  const [updated] = await run(updateChanged, parameters);
  if (!updated) throw new ServiceError('WEBHOOK_NOT_FOUND');
  if (!updated.hasOwner) throw new ServiceError('USER_NOT_FOUND');
  onMessage?.(application.id);
  return getWebhook(call, cipher, { webhookId });
}

/** Values that the webhook has already change nothing. */
const updateChanged: Statement<{ hasOwner: boolean }[]> = (db) => {
  const hasChanged = (name: string) => sql`${name}::text = any(${sql.placeholder('changed')}::text[])`;
  const before = db
    .$with('before')
    .as(
      db
        .select({ id: webhooks.id, ownerId: webhooks.ownerId, isActive: webhooks.isActive, url: webhooks.url })
        .from(webhooks)
        .where(isOwnWebhook)
        .for('no key update'),
    );
  const owner = db.select({ one: sql`1` }).from(users).where(isOwner(db));
  const hasOwner = sql<boolean>`(not ${hasChanged('ownerId')}
    or ${eq(before.ownerId, sql.placeholder('ownerId'))} or ${exists(owner)})`;
  const changes = setChanges(webhooks, CHANGEABLE);
  const disabledReason = sql`case when ${hasChanged('isActive')} then null else ${webhooks.disabledReason} end`;
  const updated = db.$with('updated').as(
    db
      .update(webhooks)
      .set({ ...changes, disabledReason, updatedAt: instantPlaceholder('now') })
      .from(before)
      .where(and(isOwnWebhook, eq(webhooks.id, before.id), differ(webhooks, { ...changes, disabledReason }), hasOwner))
      .returning({ id: webhooks.id, isActive: webhooks.isActive, url: webhooks.url }),
  );
  const queue = db.$with('queue', {}).as(sql`
    update ${webhookQueues} as queue set
      wake_count = queue.wake_count + 1, failed_batches = 0, failing_since = null,
      next_at = case
        when queue.lease is not null then queue.next_at
        when updated.is_active then ${instantPlaceholder('now')}::timestamptz end
    from updated, before
    where queue.application_id = ${sql.placeholder('applicationId')} and queue.webhook_id = updated.id
      and (updated.is_active <> before.is_active or updated.url <> before.url)
    returning queue.webhook_id`);
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`updated` });
  return db.with(before, updated, audit, queue).select({ hasOwner }).from(before).prepare('update_webhook');
};
