import { webhooks } from '../../database/schema/webhook-schema.ts';
import { p, type RowOfType, statement } from '../../database/sql/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { type Rule, rule } from '../core/rule.ts';
import { anyString, check, type Unchecked } from '../core/validation.ts';
import type { RowCipher } from '../crypto/aes-gcm.ts';
import { summaryColumns, summarySelection, type Webhook } from './webhook.ts';

/** Accepts the ID of a webhook and returns it in lower case. @throws ServiceError `Invalid webhook ID format` */
export const webhookId: Rule<string> = rule(anyString.schema, (value) => {
  const id = anyString(value);
  if (!/^wh_[0-9a-fA-F]{32}$/.test(id)) throw new ServiceError('INVALID_WEBHOOK_ID');
  return id.toLowerCase();
});

const rules = { webhookId };

/**
 * Returns a webhook of the application.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found` (also for one of another application)
 */
export async function getWebhook(
  call: ApplicationCall,
  cipher: RowCipher,
  request: Unchecked<keyof typeof rules>,
): Promise<Webhook> {
  const { webhookId } = check(request, rules);
  return decryptWebhook(call, cipher, await requireWebhook(call, webhookId));
}

/** Returns the webhook with its decrypted signing key. */
export function decryptWebhook(
  { application }: ApplicationCall,
  cipher: RowCipher,
  { signingKey, ...row }: StoredWebhook,
): Webhook {
  const ids = { applicationId: application.id, id: row.id };
  return { ...row, signingKey: cipher.decrypt(signingKey, ids), application };
}

/** Returns the webhook with its encrypted signing key. @throws ServiceError `Webhook not found` */
export async function requireWebhook({ application, run }: ApplicationCall, webhookId: string): Promise<StoredWebhook> {
  const [row] = await run(selectWebhook, { applicationId: application.id, webhookId });
  if (!row) throw new ServiceError('WEBHOOK_NOT_FOUND');
  return row;
}

/**
 * Returns the error of a call that has found no delivery of an active webhook.
 *
 * @throws ServiceError `Webhook not found`
 */
export async function explainRefusal(call: ApplicationCall, webhookId: string): Promise<ServiceError> {
  const { isActive } = await requireWebhook(call, webhookId);
  return isActive ? new ServiceError('DELIVERY_NOT_FOUND') : new ServiceError('WEBHOOK_NOT_ACTIVE');
}

export const STORED = { ...summaryColumns, signingKey: webhooks.signingKey };
export type StoredWebhook = RowOfType<typeof STORED>;

const selectWebhook = statement('select_webhook', STORED)`
  select ${summarySelection}, signing_key from webhooks join users on users.id = owner_id
  where application_id = ${p.uuid('applicationId')} and webhooks.id = ${p.text('webhookId')}`;
