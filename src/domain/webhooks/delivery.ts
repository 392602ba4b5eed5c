import { and, eq, type SQL, sql } from 'drizzle-orm';
import { type Db, matches } from '../../database/database.ts';
import { webhookDeliveries, webhookMessages } from '../../database/webhook-schema.ts';
import { toMessageId } from './ids.ts';

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
  /** Null while an attempt is known to be under way. */
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
}

/** The instant when urgent deliveries are due: before those that have waited the longest. */
export const URGENT = sql`'epoch'::timestamptz`;

export const deliveryColumns = {
  messageId: sql<string>`${webhookDeliveries.messageId}::text`.mapWith(toMessageId).as('wire_id'),
  type: sql<string>`coalesce(message.type, '')`.as('message_type'),
  status: sql<DeliveryStatus>`${webhookDeliveries.status}`.as('status'),
  attemptCount: webhookDeliveries.attemptCount,
  lastStatusCode: webhookDeliveries.lastStatusCode,
  lastError: webhookDeliveries.lastError,
  nextAttemptAt: sql<Date | null>`case when ${webhookDeliveries.dueAt} >= ${webhookDeliveries.leaseEnd} then null
    when ${webhookDeliveries.dueAt} = ${URGENT} then ${webhookDeliveries.createdAt} else ${webhookDeliveries.dueAt} end`
    .mapWith(webhookDeliveries.dueAt)
    .as('next_attempt_at'),
  createdAt: webhookDeliveries.createdAt,
};

/** Selects the deliveries of a webhook. Placeholders: applicationId, webhookId. */
export const isOfWebhook = matches(webhookDeliveries, 'applicationId', 'webhookId');

/** Returns what an update sets to deliver again, with a new retry schedule. */
export function asDueAgain(dueAt: SQL): SQL {
  return sql`status = 'pending', due_at = ${dueAt}, schedule_index = 0, is_manual = true`;
}

/**
 * Selects the message of each delivery, for a lateral join. The limit keeps it a look-up by the primary key.
 * Placeholder: applicationId.
 */
export function selectMessage(db: Db) {
  return db
    .select({ type: webhookMessages.type, payload: webhookMessages.payload })
    .from(webhookMessages)
    .where(
      and(
        eq(webhookMessages.applicationId, sql.placeholder('applicationId')),
        eq(webhookMessages.id, webhookDeliveries.messageId),
      ),
    )
    .limit(1)
    .as('message');
}

const DAY_MS = 24 * 60 * 60_000;

/** How far back messages are delivered again. */
export const MAX_REDELIVERY_AGE_MS = 14 * DAY_MS;
