import { eq } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { webhooks } from '../../database/webhook-schema.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { anyString, check, type Unchecked } from '../validation.ts';
import type { SigningKeyCipher } from './signing-key-cipher.ts';
import { isOwnWebhook, summaryColumns, type Webhook, type WebhookSummary } from './webhook.ts';
import { parseWebhookId } from './webhook-id.ts';

const rules = { webhookId: anyString };

/**
 * Returns a webhook of the application.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found` (also for one of another application)
 */
export async function getWebhook(
  call: ApplicationCall,
  cipher: SigningKeyCipher,
  request: Unchecked<keyof typeof rules>,
): Promise<Webhook> {
  const webhookId = parseWebhookId(check(request, rules).webhookId);
  const { application } = call;
  const row = await requireWebhook(call, webhookId);
  const signingKey = cipher.decrypt(row.signingKey, { applicationId: application.id, webhookId });
  return { ...row, signingKey, application };
}

/** Returns the webhook with its encrypted signing key. @throws ServiceError `Webhook not found` */
export async function requireWebhook({ application, run }: ApplicationCall, webhookId: string): Promise<StoredWebhook> {
  const [row] = await run(selectWebhook, { applicationId: application.id, webhookId });
  if (!row) throw new ServiceError('WEBHOOK_NOT_FOUND');
  return row;
}

export type StoredWebhook = WebhookSummary & { readonly signingKey: Buffer };

const selectWebhook: Statement<StoredWebhook[]> = (db) =>
  db
    .select({ ...summaryColumns, signingKey: webhooks.signingKey })
    .from(webhooks)
    .innerJoin(users, eq(users.id, webhooks.ownerId))
    .where(isOwnWebhook)
    .prepare('select_webhook');
