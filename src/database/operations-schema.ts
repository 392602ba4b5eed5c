/** What Usher keeps about its own work. */
import { bigint, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant } from './schema.ts';

/** How often things happened in each hour, in all processes. */
export const hourlyCounts = pgTable(
  'hourly_counts',
  {
    name: text('name').notNull(),
    /** When the hour began, in UTC. */
    hour: instant('hour').notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
  },
  // Begins with the hour, by which rows expire.
  (table) => [primaryKey({ columns: [table.hour, table.name] })],
);

/** Up to which instant rows that share their table with longer-lived ones were removed, so that no run reads those again. */
export const expiryMarks = pgTable('expiry_marks', {
  name: text('name').primaryKey(),
  reachedAt: instant('reached_at').notNull(),
});
