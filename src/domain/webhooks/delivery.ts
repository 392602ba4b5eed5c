import { sql } from 'drizzle-orm';
import { webhookDeliveries, webhookMessages } from '../../database/webhook-schema.ts';
import { textThat } from '../validation.ts';
import { parseMessageId, toMessageId } from './message-id.ts';

export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed'] as const;

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** A message for a webhook, and what has become of it. */
export interface Delivery {
  readonly messageId: string;
  readonly type: string;
  readonly status: DeliveryStatus;
  readonly attemptCount: number;
  readonly lastStatusCode: number | null;
  readonly lastError: string | null;
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
}

export const messageIdText = textThat((text) => parseMessageId(text) !== undefined, 'must be a message ID', {
  max: 255,
});

export const deliveryColumns = {
  messageId: sql<string>`${webhookDeliveries.messageId}::text`.mapWith(toMessageId).as('wire_id'),
  type: sql<string>`coalesce(${webhookMessages.type}, '')`.as('message_type'),
  status: sql<DeliveryStatus>`${webhookDeliveries.status}`.as('status'),
  attemptCount: webhookDeliveries.attemptCount,
  lastStatusCode: webhookDeliveries.lastStatusCode,
  lastError: webhookDeliveries.lastError,
  nextAttemptAt: webhookDeliveries.dueAt,
  createdAt: webhookDeliveries.createdAt,
};

const DAY_MS = 24 * 60 * 60_000;

/** How far back messages are delivered again. */
export const MAX_REDELIVERY_AGE_MS = 14 * DAY_MS;
