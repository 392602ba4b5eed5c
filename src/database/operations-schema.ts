/** Tables about Usher's own operation. */
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
  // The key begins with the hour, because rows expire by hour.
  (table) => [primaryKey({ columns: [table.hour, table.name] })],
);

/**
 * The progress of the expiry job in tables where rows of different lifetimes are mixed: all short-lived rows up to
 * `reached_at` are removed. A run starts there, so it does not read the long-lived rows again.
 */
export const expiryMarks = pgTable('expiry_marks', {
  name: text('name').primaryKey(),
  reachedAt: instant('reached_at').notNull(),
});
