/** The queues of webhooks. One process at a time leases a queue. */
import { and, asc, isNotNull, lte, type SQL, sql } from 'drizzle-orm';
import { matches, type RowOf, type Statement } from '../database/database.ts';
import { applications, instantPlaceholder } from '../database/schema.ts';
import {
  webhookDeliveries,
  webhookMessages,
  webhookQueues,
  webhookSigningKeys,
  webhooks,
} from '../database/webhook-schema.ts';
import { isOfWebhook, selectMessage, URGENT } from '../domain/webhooks/delivery.ts';
import { isOwnWebhook } from '../domain/webhooks/webhook.ts';
import type { EndpointKind } from './slots.ts';

export interface DueQueue {
  readonly applicationId: string;
  readonly webhookId: string;
  readonly batchSize: number;
  readonly kind: EndpointKind;
}

/** Returns due queues of each kind, the longest due first. Parameters: now, and a limit for each kind. */
export const selectDueQueues: Statement<DueQueue[]> = (db) => {
  const selectKind = (kind: EndpointKind, condition: SQL) => sql`(
    select application_id, webhook_id, batch_size, ${sql.raw(`'${kind}'`)} as kind from ${webhookQueues}
    where next_at is not null and next_at <= ${instantPlaceholder('now')}::timestamptz and ${condition}
    order by next_at limit ${sql.placeholder(kind)})`;
  const due = sql`
    ${selectKind('quick', sql`failed_batches = 0 and is_quick`)}
    union all ${selectKind('unproven', sql`failed_batches = 0 and not is_quick`)}
    union all ${selectKind('failing', sql`failed_batches > 0`)}`;
  return db
    .select({
      applicationId: sql<string>`application_id`,
      webhookId: sql<string>`webhook_id`,
      batchSize: sql<number>`batch_size`,
      kind: sql<EndpointKind>`kind`,
    })
    .from(sql`(${due}) as due`)
    .prepare('select_due_queues');
};

const claimColumns = {
  wakeCount: webhookQueues.wakeCount,
  failedBatches: webhookQueues.failedBatches,
  isRedelivering: sql<boolean>`${webhookQueues.redeliverSince} is not null`,
};

export type ClaimedQueue = RowOf<typeof claimColumns>;

/** If several processes claim a queue, the row lock lets only the first find it due. An expired lease is due again. */
export const claimQueue: Statement<ClaimedQueue[]> = (db) =>
  db
    .update(webhookQueues)
    .set({
      lease: sql`${sql.placeholder('lease')}`,
      nextAt: sql`${instantPlaceholder('leaseEnd')}::timestamptz`,
      isUrgent: false,
    })
    .where(
      and(matches(webhookQueues, 'applicationId', 'webhookId'), lte(webhookQueues.nextAt, instantPlaceholder('now'))),
    )
    .returning(claimColumns)
    .prepare('claim_queue');

const earlierSigningKeys = sql`array(
  select encode(${webhookSigningKeys.signingKey}, 'base64') from ${webhookSigningKeys}
  where ${webhookSigningKeys.applicationId} = ${webhooks.applicationId}
    and ${webhookSigningKeys.webhookId} = ${webhooks.id}
    and ${webhookSigningKeys.expiresAt} > ${instantPlaceholder('now')}
  order by ${webhookSigningKeys.expiresAt} desc)`;

/** A fragment of its own, like the next one: directly in a select from one table, Drizzle omits the table names. */
const isOfOpenApplication = sql`exists (
  select 1 from ${applications}
  where ${applications.id} = ${webhooks.applicationId} and ${applications.deletedAt} is null)`;

/** Whether a webhook is active, and its application not deleted. */
export const isDeliverable = sql<boolean>`(${webhooks.isActive} and ${isOfOpenApplication})`;

const endpointColumns = {
  url: webhooks.url,
  isActive: isDeliverable,
  ordered: webhooks.ordered,
  signingKey: webhooks.signingKey,
  /** In base64. */
  earlierSigningKeys: sql<readonly string[]>`array_to_json(${earlierSigningKeys})`,
};

export type Endpoint = RowOf<typeof endpointColumns>;

/** Returns no row if the webhook has been deleted. */
export const selectEndpoint: Statement<Endpoint[]> = (db) =>
  db.select(endpointColumns).from(webhooks).where(isOwnWebhook).prepare('select_endpoint');

const dueDeliveryColumns = {
  messageId: sql<string>`${webhookDeliveries.messageId}::text`,
  type: sql<string | null>`message.type`,
  /** Null if the message has expired. */
  payload: sql<string | null>`message.payload`,
  attemptCount: webhookDeliveries.attemptCount,
  scheduleIndex: webhookDeliveries.scheduleIndex,
  lastStatusCode: webhookDeliveries.lastStatusCode,
  lastError: webhookDeliveries.lastError,
  isManual: webhookDeliveries.isManual,
  isUrgent: sql<boolean>`${webhookDeliveries.dueAt} = ${URGENT}`,
};

export type DueDelivery = RowOf<typeof dueDeliveryColumns>;

const isPendingOfQueue = and(isOfWebhook, isNotNull(webhookDeliveries.dueAt));

/** Returns deliveries that are due, the longest due first. */
export const selectDueDeliveries: Statement<DueDelivery[]> = (db) =>
  db
    .select(dueDeliveryColumns)
    .from(webhookDeliveries)
    .leftJoinLateral(selectMessage(db), sql`true`)
    .where(and(isPendingOfQueue, lte(webhookDeliveries.dueAt, instantPlaceholder('now'))))
    .orderBy(asc(webhookDeliveries.dueAt), asc(webhookDeliveries.messageId))
    .limit(sql.placeholder('limit'))
    .prepare('select_due_deliveries');

/**
 * Returns the first pending delivery. `isFirst` is false while an earlier message has not been fanned out: IDs are
 * assigned before transactions commit, so a message may become visible after a later one.
 */
export const selectFirstDelivery: Statement<(DueDelivery & { isDue: boolean; isFirst: boolean })[]> = (db) => {
  const firstUnsent = sql`
    select unsent.id from ${webhookMessages} as unsent
    where unsent.application_id = ${sql.placeholder('applicationId')} and unsent.fanned_out_to is not null
    order by unsent.application_id, unsent.id limit 1`;
  return db
    .select({
      ...dueDeliveryColumns,
      isDue: sql<boolean>`${webhookDeliveries.dueAt} <= ${instantPlaceholder('now')}`,
      isFirst: sql<boolean>`coalesce((${firstUnsent}) > ${webhookDeliveries.messageId}, true)`,
    })
    .from(webhookDeliveries)
    .leftJoinLateral(selectMessage(db), sql`true`)
    .where(isPendingOfQueue)
    .orderBy(asc(webhookDeliveries.messageId))
    .limit(1)
    .prepare('select_first_delivery');
};
