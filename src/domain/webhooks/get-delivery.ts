import { and, asc, eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { webhookAttempts, webhookDeliveries } from '../../database/webhook-schema.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { anyString, check, type Unchecked } from '../validation.ts';
import { type Delivery, deliveryColumns, isOfWebhook, selectMessage } from './delivery.ts';
import { messageIdText } from './delivery-rules.ts';
import { requireWebhook } from './get-webhook.ts';
import { parseMessageId } from './message-id.ts';
import { parseWebhookId } from './webhook-id.ts';

const rules = { webhookId: anyString, messageId: messageIdText };

/** More attempts than the schedule has come from redeliveries. */
const MAX_ATTEMPTS = 100;

export interface Attempt {
  readonly at: Date;
  readonly durationMs: number;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly responseBody: string | null;
}

/**
 * Returns a delivery with its attempts.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `Delivery not found`
 */
export async function getDelivery(
  call: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<Delivery & { readonly attempts: readonly Attempt[] }> {
  const { webhookId: given, messageId } = check(request, rules);
  const webhookId = parseWebhookId(given);
  const ids = { applicationId: call.application.id, webhookId, messageId: parseMessageId(messageId) };
  await requireWebhook(call, webhookId);
  const [[delivery], attempts] = await Promise.all([call.run(selectDelivery, ids), call.run(selectAttempts, ids)]);
  if (!delivery) throw new ServiceError('DELIVERY_NOT_FOUND');
  return { ...delivery, attempts };
}

const selectDelivery: Statement<Delivery[]> = (db) =>
  db
    .select(deliveryColumns)
    .from(webhookDeliveries)
    .leftJoinLateral(selectMessage(db), sql`true`)
    .where(and(isOfWebhook, eq(webhookDeliveries.messageId, sql.placeholder('messageId'))))
    .prepare('select_delivery');

const selectAttempts: Statement<Attempt[]> = (db) =>
  db
    .select({
      at: webhookAttempts.attemptedAt,
      durationMs: webhookAttempts.durationMs,
      statusCode: webhookAttempts.statusCode,
      error: webhookAttempts.error,
      responseBody: webhookAttempts.responseBody,
    })
    .from(webhookAttempts)
    .where(
      and(
        eq(webhookAttempts.applicationId, sql.placeholder('applicationId')),
        eq(webhookAttempts.webhookId, sql.placeholder('webhookId')),
        eq(webhookAttempts.messageId, sql.placeholder('messageId')),
      ),
    )
    .orderBy(asc(webhookAttempts.id))
    .limit(MAX_ATTEMPTS)
    .prepare('select_attempts');
