import { and, eq, getTableColumns, type Placeholder, type Query, type SQL, sql, type Table } from 'drizzle-orm';
import type { SelectedFields } from 'drizzle-orm/pg-core';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types';
import type { ResultColumns } from './driver.ts';

/** The database object of Drizzle, which builds statements. */
export type Db = PostgresJsDatabase;

/** A statement, which each connection prepares once: `(db) => db.select()....prepare('name')`. */
export interface Statement<Rows> {
  (db: Db): PreparedStatement<Rows>;
  /** Absent if it is the same in both layouts. Without the form of a layout it is not sent there. */
  readonly forms?: Readonly<Partial<Record<Layout, Statement<Rows>>>>;
}

/** Whether one server has all rows, or Citus may spread them over several. */
export type Layout = 'whole' | 'distributed';

type PreparedStatement<Rows> = BuiltStatement<Rows> | WrittenStatement<Rows>;

/** A statement of Drizzle's query builder, which sends it. */
interface BuiltStatement<Rows> {
  getQuery(): Query;
  execute(parameters: PlaceholderValues): Promise<Rows>;
}

/** A statement of a template. */
export interface WrittenStatement<Rows> {
  getQuery(): Query;
  /** Returns the parameters in their order. @throws Error for one without a value */
  encode(parameters: PlaceholderValues): unknown[];
  decode(rows: readonly unknown[][], columns: ResultColumns): Rows;
}

/** Gets the rows of an execution, or its error, once. */
export interface Receiver<Rows> {
  readonly resolve: (rows: Rows) => void;
  readonly reject: (error: unknown) => void;
}

export type RowOf<Columns extends SelectedFields> = SelectResultFields<Columns>;

/** The values of a statement's placeholders, by name. */
export type PlaceholderValues = Record<string, unknown>;

/** The instant, in milliseconds of `performance.now()`, after which nobody waits for an answer. */
export type Deadline = number;

export interface StatementExecution<Rows> {
  readonly statement: Statement<Rows>;
  readonly parameters: PlaceholderValues;
  readonly deadline: Deadline;
  /** Called before the statement is isolated, because it may then wait for a lock until its deadline. */
  readonly onLockWait?: (() => void) | undefined;
  /** Asked right before the statement is sent. Returns false if nobody waits for the call any more. */
  readonly mayStart?: (() => boolean) | undefined;
}

/** Who waits for the statements of a call. Once it is gone, the call begins nothing, but finishes what it has begun. */
export interface Caller {
  /** Called before a statement may wait for a lock until its deadline. */
  readonly onLockWait?: (() => void) | undefined;
  readonly isGone?: (() => boolean) | undefined;
  /** Set by the database. */
  hasWritten?: boolean;
}

export type Run = <Rows>(statement: Statement<Rows>, parameters: PlaceholderValues) => Promise<Rows>;

/** Returns a placeholder for each column without a default, with the name of the column. */
export function placeholdersOf<Into extends Table>(table: Into): Record<keyof Into['$inferInsert'], Placeholder> {
  const names = Object.entries(getTableColumns(table)).flatMap(([name, column]) => (column.hasDefault ? [] : [name]));
  // The cast is safe: the type also allows columns with a default, but these are optional.
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as never;
}

/** Selects the rows whose columns equal the placeholders of their names. */
export function whereEqual<From extends Table>(
  table: From,
  ...names: readonly (keyof From['_']['columns'] & string)[]
): SQL | undefined {
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => names.includes(name));
  if (columns.length < names.length) throw new Error(`A table has not all of ${names.join(', ')}`);
  return and(...columns.map(([name, column]) => eq(column, sql.placeholder(name))));
}
