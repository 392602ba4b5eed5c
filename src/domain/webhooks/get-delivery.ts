import { sql } from 'drizzle-orm';
import { webhookAttempts } from '../../database/schema/delivery-schema.ts';
import { nullable, p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked } from '../core/validation.ts';
import { DELIVERY, type Delivery, messageId, selectDeliveriesFrom } from './delivery.ts';
import { requireWebhook, webhookId } from './get-webhook.ts';

const rules = { webhookId, messageId };

/** The first attempts are shown. The retry schedule has fewer, but redeliveries add more. */
const MAX_ATTEMPTS = 100;

const { attemptedAt: at, durationMs, statusCode, error, responseBody } = webhookAttempts;
const ATTEMPT = { at, durationMs, statusCode, error, responseBody };

type Attempt = RowOfType<typeof ATTEMPT>;

export interface DeliveryDetails extends Delivery {
  /** Null once the message was removed. */
  readonly payload: string | null;
  readonly attempts: readonly Attempt[];
}

/**
 * Returns a delivery with its payload and attempts.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `Delivery not found`
 */
export async function getDelivery(
  call: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<DeliveryDetails> {
  const ids = { applicationId: call.application.id, ...check(request, rules) };
  await requireWebhook(call, ids.webhookId);
  const [[delivery], attempts] = await Promise.all([call.run(selectDelivery, ids), call.run(selectAttempts, ids)]);
  if (!delivery) throw new ServiceError('DELIVERY_NOT_FOUND');
  return { ...delivery, attempts };
}

const selectDelivery = statement('select_delivery', { ...DELIVERY, payload: nullable(t.text) })`
  ${selectDeliveriesFrom(
    sql`
      select * from webhook_deliveries
      where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
        and message_id = ${p.bigint('messageId')}`,
    sql`, message.payload`,
  )}`;

const selectAttempts = statement('select_attempts', ATTEMPT)`
  select attempted_at as at, duration_ms, status_code, error, response_body from webhook_attempts
  where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
    and message_id = ${p.bigint('messageId')}
  order by id limit ${sql.raw(String(MAX_ATTEMPTS))}`;
