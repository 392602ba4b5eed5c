import { isNotNull, sql } from 'drizzle-orm';
import { boolean, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, encryptionKeyIdOf, instant } from './column-types.ts';
import { applicationIdColumn, users } from './schema.ts';
import type { TableFacts } from './table-facts.ts';

export const webhooks = pgTable(
  'webhooks',
  {
    applicationId: applicationIdColumn(),
    id: text('id').notNull(),
    url: text('url').notNull(),
    /** Encrypted; see domain/crypto/aes-gcm.ts. Empty for the endpoint of back-channel logout. */
    signingKey: bytes('signing_key').notNull(),
    isActive: boolean('is_active').notNull().default(true),
    /** Why Usher has deactivated the webhook. Null if it has not. */
    disabledReason: text('disabled_reason'),
    description: text('description'),
    /** The types of messages it subscribes to; `*` stands for every type. */
    eventTypes: text('event_types').array().notNull().default([]),
    /** Whether each message is delivered only after the one before. */
    ordered: boolean('ordered').notNull().default(false),
    /** Null only for the endpoint of back-channel logout. */
    ownerId: uuid('owner_id').references(() => users.id),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('webhooks_owner_id_idx').on(table.ownerId),
    index('webhooks_encryption_key_idx').on(encryptionKeyIdOf(table.signingKey)),
    index('webhooks_disabled_idx').on(table.updatedAt, table.id).where(isNotNull(table.disabledReason)),
    index('webhooks_list_idx').on(table.applicationId, table.createdAt, table.id),
    index('webhooks_subscribed_idx')
      .on(table.applicationId, table.id)
      .where(sql`${table.isActive} and ${table.eventTypes} <> '{}'`),
  ],
);

/** Earlier signing keys of webhooks. Messages are also signed with them until they expire. */
export const webhookSigningKeys = pgTable(
  'webhook_signing_keys',
  {
    applicationId: uuid('application_id').notNull(),
    webhookId: text('webhook_id').notNull(),
    id: uuid('id').notNull(),
    /** Encrypted like that of the webhook. */
    signingKey: bytes('signing_key').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.webhookId, table.id] }),
    index('webhook_signing_keys_encryption_key_idx').on(encryptionKeyIdOf(table.signingKey)),
    index('webhook_signing_keys_expires_at_idx').on(table.expiresAt),
  ],
);

export const WEBHOOK_TABLES: readonly TableFacts[] = [
  { table: webhooks, distributedBy: webhooks.applicationId, expires: [], erasedBy: [] },
  {
    table: webhookSigningKeys,
    distributedBy: webhookSigningKeys.applicationId,
    expires: [{ expiresAt: webhookSigningKeys.expiresAt }],
    erasedBy: [],
  },
];
