import { index, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { instant } from './column-types.ts';
import type { TableFacts } from './table-facts.ts';

/**
 * E-mails about changes of an account, until the mail server has taken them. The statement that makes a change inserts
 * its notice, so a crash loses none. A link in such an e-mail is made when it is sent, so the row contains no secret.
 */
export const notices = pgTable(
  'notices',
  {
    /** The application that the e-mail names as its sender. */
    applicationId: uuid('application_id').notNull(),
    /** Notices of one statement share it, and differ in their kind. */
    id: uuid('id').notNull(),
    kind: text('kind').notNull(),
    userId: uuid('user_id').notNull(),
    /** The e-mail address of the user before the change. */
    recipient: text('recipient').notNull(),
    /** What was changed, such as the name of a passkey or the ID of a provider. Empty if the kind says it all. */
    value: text('value').notNull(),
    /** The BCP 47 tag of the language of the e-mail. */
    language: text('language').notNull(),
    /** The instant of the change. */
    changedAt: instant('changed_at').notNull(),
    /** How often a process has claimed the notice, to send it. */
    attempts: smallint('attempts').notNull().default(0),
    /** When the next attempt is due. During an attempt, the end of its lease. */
    dueAt: instant('due_at').notNull(),
    /** From then on, a failed attempt is the last one. */
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id, table.kind] }),
    index('notices_due_at_idx').on(table.dueAt),
    index('notices_expires_at_idx').on(table.expiresAt),
  ],
);

/** Until then the last attempt fails, and logs that the notice was not sent. */
const NOTICE_GRACE_MS = 60 * 60_000;

export const NOTICE_TABLES: readonly TableFacts[] = [
  {
    table: notices,
    distributedBy: notices.applicationId,
    expires: [{ expiresAt: notices.expiresAt, graceMs: NOTICE_GRACE_MS }],
    erasedBy: [],
  },
];
