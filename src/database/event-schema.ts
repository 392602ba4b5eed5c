import { sql } from 'drizzle-orm';
import { boolean, foreignKey, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instant } from './column-types.ts';
import { applicationIdColumn } from './schema.ts';
import type { TableFacts } from './table-facts.ts';

/** Rows are never removed: no later event can have the ID of a deleted one. */
export const events = pgTable(
  'events',
  {
    applicationId: applicationIdColumn(),
    id: text('id').notNull(),
    name: text('name'),
    createdAt: instant('created_at').notNull(),
    deletedAt: instant('deleted_at'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('events_list_idx').on(table.applicationId, table.createdAt, table.id).where(sql`${table.deletedAt} is null`),
  ],
);

export const checkIns = pgTable(
  'check_ins',
  {
    applicationId: uuid('application_id').notNull(),
    eventId: text('event_id').notNull(),
    attendeeId: text('attendee_id').notNull(),
    checkedInAt: instant('checked_in_at').notNull(),
    /** Whether the attendee was checked in again. */
    isRepeated: boolean('is_repeated').notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.eventId, table.attendeeId] }),
    foreignKey({ columns: [table.applicationId, table.eventId], foreignColumns: [events.applicationId, events.id] }),
    index('check_ins_list_idx').on(table.applicationId, table.eventId, table.checkedInAt, table.attendeeId),
  ],
);

export const EVENT_TABLES: readonly TableFacts[] = [
  { table: events, distributedBy: events.applicationId, expires: [], erasedBy: [] },
  { table: checkIns, distributedBy: checkIns.applicationId, expires: [], erasedBy: [] },
];
