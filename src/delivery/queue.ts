/** Queues: each endpoint has one, which a single process works on at a time. */
import { and, asc, eq, isNotNull, lte, type SQL, sql } from 'drizzle-orm';
import type { Statement } from '../database/database.ts';
import { instantPlaceholder } from '../database/schema.ts';
import {
  webhookDeliveries,
  webhookMessages,
  webhookQueues,
  webhookSigningKeys,
  webhooks,
} from '../database/webhook-schema.ts';
import { isOfWebhook, selectMessage, URGENT } from '../domain/webhooks/delivery.ts';
import { isOwnWebhook } from '../domain/webhooks/webhook.ts';
import type { Line } from './slots.ts';

export interface DueQueue {
  readonly applicationId: string;
  readonly webhookId: string;
  readonly batchSize: number;
  readonly line: Line;
}

/** What the claim of a queue tells its holder. */
export interface ClaimedQueue {
  readonly wakeCount: number;
  readonly failedBatches: number;
  readonly isRedelivering: boolean;
}

export interface Endpoint {
  readonly url: string;
  readonly isActive: boolean;
  readonly ordered: boolean;
  readonly signingKey: Buffer;
  /** In base64. */
  readonly earlierSigningKeys: readonly string[];
}

export interface DueDelivery {
  readonly messageId: string;
  readonly type: string | null;
  /** Null if the message has expired. */
  readonly payload: string | null;
  readonly attemptCount: number;
  readonly scheduleIndex: number;
  readonly lastStatusCode: number | null;
  readonly lastError: string | null;
  readonly isManual: boolean;
  readonly isUrgent: boolean;
}

/** Returns the queues of each line that are due, the longest due first. Parameters: now, and the limit of each line. */
export const selectDueQueues: Statement<DueQueue[]> = (db) => {
  const selectLine = (line: Line, condition: SQL) => sql`(
    select application_id, webhook_id, batch_size, ${sql.raw(`'${line}'`)} as line from ${webhookQueues}
    where next_at is not null and next_at <= ${instantPlaceholder('now')}::timestamptz and ${condition}
    order by next_at limit ${sql.placeholder(line)})`;
  const due = sql`
    ${selectLine('quick', sql`failed_batches = 0 and is_quick`)}
    union all ${selectLine('unproven', sql`failed_batches = 0 and not is_quick`)}
    union all ${selectLine('failing', sql`failed_batches > 0`)}`;
  return db
    .select({
      applicationId: sql<string>`application_id`,
      webhookId: sql<string>`webhook_id`,
      batchSize: sql<number>`batch_size`,
      line: sql<Line>`line`,
    })
    .from(sql`(${due}) as due`)
    .prepare('select_due_queues');
};

/** Of processes that claim a queue at once, the row lock lets one find it due. A lease that has ended is due again. */
export const claimQueue: Statement<ClaimedQueue[]> = (db) =>
  db
    .update(webhookQueues)
    .set({
      lease: sql`${sql.placeholder('lease')}`,
      nextAt: sql`${instantPlaceholder('leaseEnd')}::timestamptz`,
      isUrgent: false,
    })
    .where(and(isQueue, lte(webhookQueues.nextAt, instantPlaceholder('now'))))
    .returning({
      wakeCount: webhookQueues.wakeCount,
      failedBatches: webhookQueues.failedBatches,
      isRedelivering: sql<boolean>`${webhookQueues.redeliverSince} is not null`,
    })
    .prepare('claim_queue');

const isQueue = and(
  eq(webhookQueues.applicationId, sql.placeholder('applicationId')),
  eq(webhookQueues.webhookId, sql.placeholder('webhookId')),
);

/** Returns no row if the webhook has been deleted. */
export const selectEndpoint: Statement<Endpoint[]> = (db) => {
  const earlier = sql<readonly string[]>`array(
    select encode(${webhookSigningKeys.signingKey}, 'base64') from ${webhookSigningKeys}
    where ${webhookSigningKeys.applicationId} = ${webhooks.applicationId}
      and ${webhookSigningKeys.webhookId} = ${webhooks.id}
      and ${webhookSigningKeys.expiresAt} > ${instantPlaceholder('now')}
    order by ${webhookSigningKeys.expiresAt} desc)`;
  return db
    .select({
      url: webhooks.url,
      isActive: webhooks.isActive,
      ordered: webhooks.ordered,
      signingKey: webhooks.signingKey,
      earlierSigningKeys: sql<readonly string[]>`array_to_json(${earlier})`,
    })
    .from(webhooks)
    .where(isOwnWebhook)
    .prepare('select_endpoint');
};

const deliveryColumns = {
  messageId: sql<string>`${webhookDeliveries.messageId}::text`,
  type: sql<string | null>`message.type`,
  payload: sql<string | null>`message.payload`,
  attemptCount: webhookDeliveries.attemptCount,
  scheduleIndex: webhookDeliveries.scheduleIndex,
  lastStatusCode: webhookDeliveries.lastStatusCode,
  lastError: webhookDeliveries.lastError,
  isManual: webhookDeliveries.isManual,
  isUrgent: sql<boolean>`${webhookDeliveries.dueAt} = ${URGENT}`,
};
const isPendingOfQueue = and(isOfWebhook, isNotNull(webhookDeliveries.dueAt));

/** Returns deliveries that are due, the longest due first. */
export const selectDueDeliveries: Statement<DueDelivery[]> = (db) =>
  db
    .select(deliveryColumns)
    .from(webhookDeliveries)
    .leftJoinLateral(selectMessage(db), sql`true`)
    .where(and(isPendingOfQueue, lte(webhookDeliveries.dueAt, instantPlaceholder('now'))))
    .orderBy(asc(webhookDeliveries.dueAt), asc(webhookDeliveries.messageId))
    .limit(sql.placeholder('limit'))
    .prepare('select_due_deliveries');

/**
 * Returns the first pending delivery, or none while an earlier message has not been fanned out: IDs are taken before
 * transactions commit, so a message may come up behind a later one.
 */
export const selectFirstDelivery: Statement<(DueDelivery & { isDue: boolean; isFirst: boolean })[]> = (db) => {
  const firstUnsent = sql`
    select unsent.id from ${webhookMessages} as unsent
    where unsent.application_id = ${sql.placeholder('applicationId')} and unsent.fanned_out_to is not null
    order by unsent.application_id, unsent.id limit 1`;
  return db
    .select({
      ...deliveryColumns,
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
