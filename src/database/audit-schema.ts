import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instant } from './schema.ts';

/** The application ID of events that concern no single application. It is no null, so that the table can be distributed. */
export const NO_APPLICATION = '00000000-0000-0000-0000-000000000000';

/** Who changed what. A row is inserted by the statement that makes the change. */
export const auditEvents = pgTable(
  'audit_events',
  {
    applicationId: uuid('application_id').notNull(),
    occurredAt: instant('occurred_at').notNull(),
    id: uuid('id').notNull(),
    actorType: text('actor_type').notNull(),
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    resource: text('resource').notNull(),
    ipAddress: text('ip_address').notNull(),
    requestId: text('request_id').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.occurredAt, table.id] }),
    index('audit_events_list_idx').on(table.occurredAt, table.id),
    // An erasure removes the addresses from which a user came.
    index('audit_events_resource_idx').on(table.resource).where(sql`${table.ipAddress} <> ''`),
  ],
);
