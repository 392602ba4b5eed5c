/** The ID of a message is `msg_` and a number by which the messages of an application are ordered. */

import { type SQL, sql } from 'drizzle-orm';
import { webhookDeliveries } from '../../database/schema/delivery-schema.ts';
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { p, t } from '../../database/sql/template.ts';
import { type Rule, rule } from '../core/rule.ts';
import { textThat } from '../core/validation.ts';

const messageIdText = textThat((text) => /^msg_[1-9]\d{0,17}$/.test(text), 'must be a message ID', {
  // Equivalent: limit: no ID has so many characters
  max: 255,
  format: 'message-id',
});
/** Accepts the ID of a message and returns its number. */
export const messageId: Rule<string> = rule(messageIdText.schema, (value) => numberOf(messageIdText(value)));

/** Returns the ID as callers and receivers see it. */
export function toMessageId(number: string): string {
  return `msg_${number}`;
}

/** Returns the number as text, because it may exceed the safe integers. */
export function numberOf(id: string): string {
  return id.slice('msg_'.length);
}

export const DELIVERY_STATUSES = webhookDeliveries.status.enumValues;

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** A message for a webhook, and its status. */
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

/** The instant when urgent deliveries are due: before the deliveries that have waited the longest. */
export const URGENT = sql`'epoch'::timestamptz`;

/** The row type of `selectDeliveriesFrom`. */
export const DELIVERY = {
  messageId: { ...t.bigint, decode: (number: unknown) => toMessageId(number as string) },
  type: t.text,
  status: webhookDeliveries.status,
  attemptCount: webhookDeliveries.attemptCount,
  lastStatusCode: webhookDeliveries.lastStatusCode,
  lastError: webhookDeliveries.lastError,
  nextAttemptAt: webhookDeliveries.dueAt,
  createdAt: webhookDeliveries.createdAt,
};

/**
 * Selects the columns of deliveries that callers see, and `more` columns of `message`. All messages are read in one
 * scan: those of a page are about as old as each other, so each leaf of their index is read once. Parameter:
 * applicationId.
 */
export function selectDeliveriesFrom(deliveries: SQL, more: SQL = sql``): SQL {
  return sql`
    with delivery as (${deliveries}), message as materialized (
      select id, type, payload from webhook_messages
      where application_id = ${p.uuid('applicationId')}
        -- Equivalent: conjunct: of more messages, each delivery finds its own
        and id = any (array(select message_id from delivery))
    )
    select message_id, coalesce(message.type, '') as type, status, attempt_count, last_status_code, last_error,
      case when due_at >= lease_end then null when due_at = ${URGENT} then created_at else due_at end as next_attempt_at,
      created_at${more}
    from delivery left join message on message.id = message_id`;
}

/** Selects the type and payload of a message. The limit keeps it a look-up by the primary key. Parameter: applicationId. */
export function selectMessage(id: SQL): SQL {
  return sql`
    -- Equivalent: limit: no other message has the ID
    select type, payload from webhook_messages where application_id = ${p.uuid('applicationId')} and id = ${id} limit 1`;
}

/** Returns the assignments of an update that makes deliveries due again, with a new retry schedule. */
export function asDueAgain(dueAt: SQL): SQL {
  return sql`status = 'pending', due_at = ${dueAt}, schedule_index = 0, is_manual = true`;
}

/** The greatest age at which messages are delivered again. */
export const MAX_REDELIVERY_AGE_MS = 14 * DAY_MS;
