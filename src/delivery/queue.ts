/** The queues of webhooks. One process at a time leases a queue. */
import { type SQL, sql } from 'drizzle-orm';
import { webhookDeliveries, webhookQueues } from '../database/schema/delivery-schema.ts';
import { webhooks } from '../database/schema/webhook-schema.ts';
import { nullable, p, type RowOfType, statement, t } from '../database/sql/template.ts';
import { selectMessage, URGENT } from '../domain/webhooks/delivery.ts';
import type { EndpointKind } from './slots.ts';

const DUE_QUEUE = {
  applicationId: webhookQueues.applicationId,
  webhookId: webhookQueues.webhookId,
  batchSize: webhookQueues.batchSize,
  kind: t.textOf<EndpointKind>(),
};

export type DueQueue = RowOfType<typeof DUE_QUEUE>;

/**
 * Returns due queues of each kind, the longest due first. Parameters: now, and for each kind a limit and the
 * applications that must wait for their turn.
 */
export const selectDueQueues = statement('select_due_queues', DUE_QUEUE)`
  ${selectDueOf('quick', sql`failed_batches = 0 and is_quick`)}
  union all ${selectDueOf('unproven', sql`failed_batches = 0 and not is_quick`)}
  union all ${selectDueOf('failing', sql`failed_batches > 0`)}`;

function selectDueOf(kind: EndpointKind, condition: SQL): SQL {
  return sql`(
    select application_id, webhook_id, batch_size, ${sql.raw(`'${kind}'`)} as kind from webhook_queues
    where next_at is not null and next_at <= ${p.instant('now')} and ${condition}
      and application_id <> all(${p.uuids(`${kind}Waiting`)})
    order by next_at limit ${p.integer(kind)})`;
}

const CLAIMED_QUEUE = {
  wakeCount: webhookQueues.wakeCount,
  failedBatches: webhookQueues.failedBatches,
  isRedelivering: t.boolean,
};

export type ClaimedQueue = RowOfType<typeof CLAIMED_QUEUE>;

/**
 * Claims a due queue. If several processes try, the row lock lets only the first find the queue due. A queue whose lease
 * has expired is due again.
 */
export const claimQueue = statement('claim_queue', CLAIMED_QUEUE)`
  update webhook_queues set lease = ${p.uuid('lease')}, next_at = ${p.instant('leaseEnd')}, is_urgent = false
  where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
    and next_at <= ${p.instant('now')}
  returning wake_count, failed_batches, redeliver_since is not null as is_redelivering`;

const ENDPOINT = {
  url: webhooks.url,
  isActive: t.boolean,
  ordered: webhooks.ordered,
  signingKey: webhooks.signingKey,
  /** Encrypted, in base64. */
  earlierSigningKeys: t.json<readonly string[]>(),
};

export type Endpoint = RowOfType<typeof ENDPOINT>;

/** Returns no row if the webhook has been deleted. */
export const selectEndpoint = statement('select_endpoint', ENDPOINT)`
  select url, ${isDeliverable(sql`webhook`)} as is_active, ordered, signing_key, array_to_json(array(
    select encode(earlier.signing_key, 'base64') from webhook_signing_keys as earlier
    where earlier.application_id = webhook.application_id and earlier.webhook_id = webhook.id
      and expires_at > ${p.instant('now')}
    order by expires_at desc
  )) as earlier_signing_keys
  from webhooks as webhook where application_id = ${p.uuid('applicationId')} and id = ${p.text('webhookId')}`;

/** Returns the condition that a webhook is active and its application not deleted. @param webhook alias of the row */
export function isDeliverable(webhook: SQL): SQL {
  return sql`(${webhook}.is_active and exists (
    select 1 from applications where id = ${webhook}.application_id and deleted_at is null))`;
}

const { attemptCount, scheduleIndex, lastStatusCode, lastError, isManual } = webhookDeliveries;
const DUE_DELIVERY = {
  messageId: t.bigint,
  type: nullable(t.text),
  /** Null if the message has expired. */
  payload: nullable(t.text),
  ...{ attemptCount, scheduleIndex, lastStatusCode, lastError, isManual },
  isUrgent: t.boolean,
};

export type DueDelivery = RowOfType<typeof DUE_DELIVERY>;

const dueDelivery = sql`
  message_id, type, payload, attempt_count, schedule_index, last_status_code, last_error, is_manual,
  due_at = ${URGENT} as is_urgent`;

const pendingDeliveries = sql`
  webhook_deliveries as delivery left join lateral (${selectMessage(sql`delivery.message_id`)}) as message on true
  where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')} and due_at is not null`;

/** Returns deliveries that are due, the longest due first. */
export const selectDueDeliveries = statement('select_due_deliveries', DUE_DELIVERY)`
  select ${dueDelivery} from ${pendingDeliveries} and due_at <= ${p.instant('now')}
  order by due_at, message_id limit ${p.integer('limit')}`;

/**
 * Returns the first pending delivery. `isFirst` is false while an earlier message has not been fanned out: IDs are
 * assigned before transactions commit, so a message may become visible after a later one.
 */
export const selectFirstDelivery = statement('select_first_delivery', {
  ...DUE_DELIVERY,
  isDue: t.boolean,
  isFirst: t.boolean,
})`
  select ${dueDelivery}, due_at <= ${p.instant('now')} as is_due, coalesce((
    select id from webhook_messages
    where application_id = ${p.uuid('applicationId')} and fanned_out_to is not null
    order by application_id, id limit 1
  ) > message_id, true) as is_first
  from ${pendingDeliveries}
  order by message_id limit 1`;
