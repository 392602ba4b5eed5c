import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  foreignKey,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core';
import { instant } from './column-types.ts';
import { applicationIdColumn } from './schema.ts';
import { DAY_MS, type TableFacts } from './table-facts.ts';

export const ADMISSIONS = ['ANYONE', 'LISTED'] as const;
type Admission = (typeof ADMISSIONS)[number];

/** Rows are never removed: no later event can have the ID of a deleted one. */
export const events = pgTable(
  'events',
  {
    applicationId: applicationIdColumn(),
    id: text('id').notNull(),
    name: text('name'),
    createdAt: instant('created_at').notNull(),
    deletedAt: instant('deleted_at'),
    /** Check-ins count from then on. */
    startsAt: instant('starts_at'),
    /** Check-ins count until then. */
    endsAt: instant('ends_at'),
    capacity: integer('capacity'),
    /** Null means `ANYONE`. */
    admission: text('admission').$type<Admission>(),
    /** How many attendees are checked in. Null without a capacity, and until the first check-in counts them. */
    checkedIn: integer('checked_in'),
    /** The greatest `version` of its attendees. */
    attendeeVersion: bigint('attendee_version', { mode: 'number' }).notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('events_list_idx').on(table.applicationId, table.createdAt, table.id).where(sql`${table.deletedAt} is null`),
    // For the expiry job, which removes their lists.
    index('events_deleted_idx').on(table.deletedAt).where(sql`${table.deletedAt} is not null`),
  ],
);

/**
 * Without a foreign key, whose check would take a tenth of the time of a batch of scans in Postgres. Events are never
 * removed, and a statement that inserts a check-in has locked its event.
 */
export const checkIns = pgTable(
  'check_ins',
  {
    applicationId: uuid('application_id').notNull(),
    eventId: text('event_id').notNull(),
    attendeeId: text('attendee_id').notNull(),
    checkedInAt: instant('checked_in_at').notNull(),
    /** Whether the attendee was checked in again. */
    isRepeated: boolean('is_repeated').notNull().default(false),
    /** When the attendee came, by the clock of the scanner. */
    occurredAt: instant('occurred_at'),
    gate: text('gate'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.eventId, table.attendeeId] }),
    index('check_ins_list_idx').on(table.applicationId, table.eventId, table.checkedInAt, table.attendeeId),
  ],
);

/** The attendees that an application has listed for an event. */
export const attendees = pgTable(
  'attendees',
  {
    applicationId: uuid('application_id').notNull(),
    eventId: text('event_id').notNull(),
    attendeeId: text('attendee_id').notNull(),
    label: text('label').notNull(),
    isBlocked: boolean('is_blocked').notNull(),
    /** Every change, also a check-in or its undo, takes the next version of the event, under the lock of the event. */
    version: bigint('version', { mode: 'number' }).notNull(),
    changedAt: instant('changed_at').notNull(),
    /** A deleted attendee stays for some days, so that copies learn of it. Its label is empty. */
    isDeleted: boolean('is_deleted').notNull().default(false),
    /** When the row is removed: some days after the attendee was deleted. Those of a deleted event go without it. */
    removedAt: instant('removed_at'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.eventId, table.attendeeId] }),
    foreignKey({ columns: [table.applicationId, table.eventId], foreignColumns: [events.applicationId, events.id] }),
    index('attendees_version_idx').on(table.applicationId, table.eventId, table.version),
    // For a search by the beginning of the label, and for counts.
    index('attendees_label_idx')
      .on(table.applicationId, table.eventId, sql`(lower(${table.label}) collate "C")`)
      .where(sql`not ${table.isDeleted}`),
    index('attendees_removed_idx').on(table.removedAt).where(sql`${table.removedAt} is not null`),
  ],
);

/** The results of scans, for devices that send a scan again. */
export const scans = pgTable(
  'scans',
  {
    applicationId: uuid('application_id').notNull(),
    eventId: text('event_id').notNull(),
    scanId: uuid('scan_id').notNull(),
    attendeeId: text('attendee_id').notNull(),
    outcome: text('outcome').$type<ScanOutcome>().notNull(),
    reason: text('reason'),
    gate: text('gate'),
    occurredAt: instant('occurred_at'),
    receivedAt: instant('received_at').notNull(),
    /** The check-in that was there already, as it was then: an undo may have removed it since. */
    checkIn: json('check_in').$type<StoredCheckIn>(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.eventId, table.scanId] }),
    index('scans_received_idx').on(table.receivedAt),
    index('scans_refusals_idx')
      .on(table.applicationId, table.eventId, table.receivedAt, table.scanId)
      .where(sql`${table.reason} is not null`),
  ],
);

export const SCAN_OUTCOMES = ['CHECKED_IN', 'ALREADY_CHECKED_IN', 'REFUSED'] as const;
export type ScanOutcome = (typeof SCAN_OUTCOMES)[number];

/** With instants in ISO 8601. */
export interface StoredCheckIn {
  readonly checkedInAt: string;
  readonly occurredAt: string | null;
  readonly gate: string | null;
}

const SCAN_DAYS = 14;

export const EVENT_TABLES: readonly TableFacts[] = [
  { table: events, distributedBy: events.applicationId, expires: [], erasedBy: [] },
  { table: checkIns, distributedBy: checkIns.applicationId, expires: [], erasedBy: [] },
  {
    table: attendees,
    distributedBy: attendees.applicationId,
    expires: [{ expiresAt: attendees.removedAt }],
    erasedBy: [],
  },
  {
    table: scans,
    distributedBy: scans.applicationId,
    expires: [{ expiresAt: scans.receivedAt, graceMs: SCAN_DAYS * DAY_MS }],
    erasedBy: [],
  },
];
