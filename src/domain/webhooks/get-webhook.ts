import { and, eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users, webhooks } from '../../database/schema.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { anyString, check, type Unchecked } from '../validation.ts';
import type { SigningKeyCipher } from './signing-key-cipher.ts';
import type { Webhook } from './webhook.ts';

const rules = { webhookId: anyString };

/**
 * Returns a webhook of the application.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found` (also for one of another application)
 */
export async function getWebhook(
  { application, run }: ApplicationCall,
  cipher: SigningKeyCipher,
  request: Unchecked<keyof typeof rules>,
): Promise<Webhook> {
  const given = check(request, rules).webhookId;
  if (!/^wh_[0-9a-fA-F]{32}$/.test(given)) throw new ServiceError('INVALID_WEBHOOK_ID');
  const webhookId = given.toLowerCase();
  const [row] = await run(selectWebhook, { applicationId: application.id, webhookId });
  if (!row) throw new ServiceError('WEBHOOK_NOT_FOUND');
  const signingKey = cipher.decrypt(row.signingKey, { applicationId: application.id, webhookId });
  return { ...row, signingKey, application };
}

const selectWebhook: Statement<(Omit<Webhook, 'application' | 'signingKey'> & { signingKey: Buffer })[]> = (db) =>
  db
    .select({
      id: webhooks.id,
      signingKey: webhooks.signingKey,
      url: webhooks.url,
      isActive: webhooks.isActive,
      owner: { id: users.id, name: users.name, email: users.email },
      createdAt: webhooks.createdAt,
      updatedAt: webhooks.updatedAt,
    })
    .from(webhooks)
    .innerJoin(users, eq(users.id, webhooks.ownerId))
    .where(
      and(eq(webhooks.applicationId, sql.placeholder('applicationId')), eq(webhooks.id, sql.placeholder('webhookId'))),
    )
    .prepare('select_webhook');
