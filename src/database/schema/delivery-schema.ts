/**
 * Messages and their deliveries to webhooks; see src/delivery/README.md. The tables have no foreign keys, which would
 * slow down every change that has a message. The expiry job removes the rows that a deleted webhook leaves.
 */
import { isNotNull, sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  bigint,
  boolean,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  uuid,
} from 'drizzle-orm/pg-core';
import { instant } from './column-types.ts';
import { DAY_MS, type TableFacts } from './table-facts.ts';

/** Messages, with the payload that is sent. The messages of an application are ordered by ID. */
export const webhookMessages = pgTable(
  'webhook_messages',
  {
    applicationId: uuid('application_id').notNull(),
    id: bigint('id', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    type: text('type').notNull(),
    payload: text('payload').notNull(),
    createdAt: instant('created_at').notNull(),
    /** The user whose personal data the payload has. An erasure of the user removes it. */
    userId: uuid('user_id'),
    /** The highest ID of a webhook that has its delivery; empty at first, null once all webhooks have theirs. */
    fannedOutTo: text('fanned_out_to').default(''),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('webhook_messages_fan_out_idx')
      .on(table.applicationId, table.id)
      .where(sql`${table.fannedOutTo} is not null`),
    index('webhook_messages_created_at_idx').on(table.createdAt),
    index('webhook_messages_user_id_idx').on(table.userId).where(sql`${table.userId} is not null`),
  ],
);

export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    applicationId: uuid('application_id').notNull(),
    webhookId: text('webhook_id').notNull(),
    messageId: bigint('message_id', { mode: 'bigint' }).notNull(),
    status: text('status', { enum: ['pending', 'succeeded', 'failed'] })
      .notNull()
      .default('pending'),
    /** When the next attempt is due. `URGENT` for one before all others, null unless the delivery is pending. */
    dueAt: instant('due_at'),
    /** When the lease of a slow attempt ends if it is not extended. Extensions move `due_at` alone. */
    leaseEnd: instant('lease_end'),
    attemptCount: integer('attempt_count').notNull().default(0),
    /** How many attempts of the retry schedule have been made. A redelivery starts the schedule again. */
    scheduleIndex: smallint('schedule_index').notNull().default(0),
    /** Whether a call has requested it, as a test or redelivery: its failures do not deactivate the webhook. */
    isManual: boolean('is_manual').notNull().default(false),
    lastStatusCode: smallint('last_status_code'),
    lastError: text('last_error'),
    /** The `created_at` of the message. */
    createdAt: instant('created_at').notNull(),
  },
  ({ applicationId, webhookId, messageId, dueAt, status, createdAt }) => [
    primaryKey({ columns: [applicationId, webhookId, messageId] }),
    index('webhook_deliveries_due_idx').on(applicationId, webhookId, dueAt, messageId).where(isNotNull(dueAt)),
    index('webhook_deliveries_order_idx').on(applicationId, webhookId, messageId).where(isNotNull(dueAt)),
    index('webhook_deliveries_list_idx').on(applicationId, webhookId, status, createdAt, messageId),
    index('webhook_deliveries_created_at_idx').on(createdAt),
  ],
);

const isFailing = ({ nextAt, failedBatches }: Record<'nextAt' | 'failedBatches', AnyPgColumn>) =>
  sql`${nextAt} is not null and ${failedBatches} > 0`;

/** The state of each webhook's queue. A process that delivers to the endpoint holds the lease of its queue. */
export const webhookQueues = pgTable(
  'webhook_queues',
  {
    applicationId: uuid('application_id').notNull(),
    webhookId: text('webhook_id').notNull(),
    /** When a process next claims the queue, or when its lease ends. Null while nothing is pending. */
    nextAt: instant('next_at'),
    lease: uuid('lease'),
    /**
     * Grows with every new reason for an attempt, so that the holder of the lease notices it before it releases the
     * queue.
     */
    wakeCount: bigint('wake_count', { mode: 'number' }).notNull().default(0),
    /** Whether a test or a redelivery is pending, for which the backoff is ignored. */
    isUrgent: boolean('is_urgent').notNull().default(false),
    /** How many deliveries a process reads at a time. It grows while the endpoint answers. */
    batchSize: smallint('batch_size').notNull().default(1),
    /** Whether the endpoint answered the attempts of the last batch within a second. */
    isQuick: boolean('is_quick').notNull().default(false),
    /** How many batches have failed since the last attempt that succeeded. */
    failedBatches: integer('failed_batches').notNull().default(0),
    /** When the first attempt since the last success failed, or had no answer within a second. */
    failingSince: instant('failing_since'),
    /** Failed deliveries of messages created between these instants are to be delivered again. */
    redeliverSince: instant('redeliver_since'),
    redeliverUntil: instant('redeliver_until'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.webhookId] }),
    // Two indexes: slow and failing endpoints must not crowd out working ones.
    index('webhook_queues_working_idx')
      .on(table.isQuick, table.nextAt)
      .where(sql`${table.nextAt} is not null and ${table.failedBatches} = 0`),
    index('webhook_queues_failing_idx').on(table.nextAt).where(isFailing(table)),
    // For the list of the endpoints that have failed longest, which operators read.
    index('webhook_queues_failing_since_idx').on(table.failingSince, table.webhookId).where(isFailing(table)),
  ],
);

export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    applicationId: uuid('application_id').notNull(),
    webhookId: text('webhook_id').notNull(),
    messageId: bigint('message_id', { mode: 'bigint' }).notNull(),
    id: bigint('id', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    attemptedAt: instant('attempted_at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    statusCode: smallint('status_code'),
    error: text('error'),
    responseBody: text('response_body'),
    /** The user of the message, if the attempt has a response body. An erasure of the user removes the body. */
    userId: uuid('user_id'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.webhookId, table.messageId, table.id] }),
    index('webhook_attempts_attempted_at_idx').on(table.attemptedAt),
    index('webhook_attempts_user_id_idx').on(table.userId).where(sql`${table.userId} is not null`),
  ],
);

/** Applications that read their messages over the API. */
export const messageFeeds = pgTable('message_feeds', {
  applicationId: uuid('application_id').primaryKey(),
  /** Cursors of another epoch have expired: messages may be missing between it and this one. */
  epoch: uuid('epoch').notNull(),
  /** The row lock of its update orders the fan-outs. So no position can be seen before an earlier one. */
  nextPosition: bigint('next_position', { mode: 'number' }).notNull(),
  isActive: boolean('is_active').notNull(),
});

/** The places of messages in the feed of their application. */
export const feedPositions = pgTable(
  'feed_positions',
  {
    applicationId: uuid('application_id').notNull(),
    position: bigint('position', { mode: 'number' }).notNull(),
    messageId: bigint('message_id', { mode: 'bigint' }).notNull(),
    /** The type of the message. Null if a version without this column gave it its place. */
    type: text('type'),
    /** The `created_at` of the message. */
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.position] }),
    // For readers of a few types: most positions may have messages of others.
    index('feed_positions_type_idx').on(table.applicationId, table.type, table.position),
    index('feed_positions_created_at_idx').on(table.createdAt),
  ],
);

const LOGGED = { keptFor: 'webhookLogDays' } as const;
/** Four days longer: a redelivery on the last day still retries. */
const REDELIVERED = { ...LOGGED, graceMs: 4 * DAY_MS };

export const DELIVERY_TABLES: readonly TableFacts[] = [
  { table: messageFeeds, distributedBy: messageFeeds.applicationId, expires: [], erasedBy: [] },
  {
    table: feedPositions,
    distributedBy: feedPositions.applicationId,
    expires: [{ expiresAt: feedPositions.createdAt, ...LOGGED }],
    erasedBy: [],
  },
  { table: webhookQueues, distributedBy: webhookQueues.applicationId, expires: [], erasedBy: [] },
  {
    table: webhookAttempts,
    distributedBy: webhookAttempts.applicationId,
    expires: [{ expiresAt: webhookAttempts.attemptedAt, ...LOGGED }],
    erasedBy: [],
  },
  {
    table: webhookDeliveries,
    distributedBy: webhookDeliveries.applicationId,
    expires: [{ expiresAt: webhookDeliveries.createdAt, ...REDELIVERED }],
    erasedBy: [],
  },
  {
    table: webhookMessages,
    distributedBy: webhookMessages.applicationId,
    expires: [{ expiresAt: webhookMessages.createdAt, ...REDELIVERED }],
    erasedBy: ['user'],
  },
];
