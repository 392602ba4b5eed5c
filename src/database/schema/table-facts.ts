/** What a schema file says of its tables beside their columns. */
import type { SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';

export interface TableFacts {
  readonly table: PgTable;
  /**
   * The column by which Citus distributes the rows, or null for a copy on every server: of tables that are small, or
   * joined with rows of every application. By application, the calls of an application read and write on one worker.
   */
  readonly distributedBy: PgColumn | null;
  /** The rows that the expiry job removes. */
  readonly expires: readonly ExpiringRows[];
  /** How an erasure finds the rows to delete: by the user's ID, or by the user's login intents. */
  readonly erasedBy: readonly ('user' | 'login')[];
}

export interface ExpiringRows {
  /** The column must have an index. */
  readonly expiresAt: PgColumn;
  /** How long rows are kept after `expiresAt`. 0 by default. */
  readonly graceMs?: number;
  /** The setting whose days are added to `graceMs`. */
  readonly keptFor?: keyof LogDays;
  /** Selects the rows of the table that expire; the others are kept for longer. */
  readonly only?: SQL;
  /** The name of the row in `expiry_marks` with the progress. Without it, each run would read the kept rows again. */
  readonly mark?: string;
}

/** For how many days rows are kept, as settings say. */
export interface LogDays {
  readonly webhookLogDays: number;
  readonly auditLogDays: number;
  readonly signInLogDays: number;
}

export const DAY_MS = 24 * 60 * 60_000;
