/** Statements written as SQL. Simple ones, of one table and without a CTE, are built with Drizzle instead. */
import { type GetColumnData, is, Param, type Query, type SQL, sql } from 'drizzle-orm';
import { PgColumn, PgDialect } from 'drizzle-orm/pg-core';
import { shareParameters } from './share-parameters.ts';
import type { Statement } from './statement.ts';

/** The columns of a statement's rows: those of tables, or types of `t`. They come by name, so in any order. */
export interface RowType {
  /** A nested object takes its columns from the same row. */
  readonly [name: string]: PgColumn | ComputedType<unknown> | RowType;
}

/** The rows of a type. */
export type RowOfType<Type> = Type extends PgColumn
  ? GetColumnData<Type>
  : Type extends ComputedType<infer Value>
    ? Value
    : { -readonly [Name in keyof Type]: RowOfType<Type[Name]> };

/** The type of a value that is no column of a table. */
export interface ComputedType<Value> {
  /** As `format_type` of Postgres has it. */
  readonly sqlType: string;
  decode(value: unknown): Value;
}

/**
 * Returns a tag for a prepared statement: `statement('find_user', { id: users.id })`select id from users ...``.
 * Comments of SQL stay out of what is sent.
 */
export function statement<const Type extends RowType>(name: string, rowType?: Type) {
  return (strings: TemplateStringsArray, ...parts: readonly SQL[]): Statement<RowOfType<Type>[]> & HasRowType => {
    let query: Query | undefined;
    let read: ReadValue | undefined;
    const prepare: Statement<RowOfType<Type>[]> = (db) => {
      query ??= compile(sql(strings, ...parts));
      const mapRows = (rows: ResultRows) => {
        if (rows.length > 0) read ??= createReader(rowType ?? {}, rows.columns);
        return rows.map((row) => read?.(row));
      };
      // Drizzle passes the rows of postgres.js on, which have the names of their columns.
      return db._.session.prepareQuery(query, undefined, name, true, mapRows as never) as never;
    };
    return Object.defineProperty(Object.assign(prepare, { rowType }), 'name', { value: toCamelCase(name) });
  };
}

/** What a test compares with the columns that Postgres describes. */
export interface HasRowType {
  readonly rowType: RowType | undefined;
}

const asIs = <Value>(sqlType: string): ComputedType<Value> => ({ sqlType, decode: (value) => value as Value });

/** Types of values that are no columns of a table. */
export const t = {
  boolean: asIs<boolean>('boolean'),
  integer: asIs<number>('integer'),
  text: asIs<string>('text'),
  textOf: <Value extends string>() => asIs<Value>('text'),
  uuid: asIs<string>('uuid'),
  instant: { sqlType: 'timestamp with time zone', decode: (value) => new Date(value as string) } as ComputedType<Date>,
  json: <Value>() => asIs<Value>('json'),
};

/** A value of the type, or null. */
export function nullable<Value>({ sqlType, decode }: ComputedType<Value>): ComputedType<Value | null> {
  return { sqlType, decode: (value) => (value === null ? null : decode(value)) };
}

const parameter = (type: string, encode = (value: unknown) => value) => {
  const encoder = { mapToDriverValue: (value: unknown) => (value === null ? null : encode(value)) };
  return (name: string): SQL => sql`${new Param(sql.placeholder(name), encoder)}::${sql.raw(type)}`;
};

/** Parameters of a template by name and type. Null is a value of each. */
export const p = {
  boolean: parameter('boolean'),
  bytes: parameter('bytea'),
  instant: parameter('timestamptz', (instant) => (instant as Date).toISOString()),
  integer: parameter('integer'),
  text: parameter('text'),
  /** Values without commas, quotes and backslashes. */
  texts: parameter('text[]', (values) => `{${values}}`),
  uuid: parameter('uuid'),
  uuids: parameter('uuid[]', (values) => `{${values}}`),
};

const dialect = new PgDialect();

/** Shortens the text, which postgres.js hashes at every execution. */
function compile(template: SQL): Query {
  const { sql: text, params } = shareParameters(dialect.sqlToQuery(template));
  const short = text.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim();
  return { sql: short, params };
}

type ResultRows = unknown[][] & { readonly columns: readonly { readonly name: string }[] };
type ReadValue = (row: readonly unknown[]) => unknown;

function createReader(type: RowType, columns: ResultRows['columns']): ReadValue {
  const readers = Object.entries(type).map(([name, value]): [string, ReadValue] => {
    const decode = decoderOf(value);
    if (!decode) return [name, createReader(value as RowType, columns)];
    const index = columns.findIndex((column) => column.name === toSnakeCase(name));
    return [name, (row) => decode(row[index])];
  });
  return (row) => {
    const result: Record<string, unknown> = {};
    for (const [name, read] of readers) result[name] = read(row);
    return result;
  };
}

/** Returns undefined for a nested object. */
function decoderOf(type: RowType[string]): ((value: unknown) => unknown) | undefined {
  if (is(type, PgColumn)) return (value) => (value === null ? null : type.mapFromDriverValue(value));
  return 'sqlType' in type ? (type as ComputedType<unknown>).decode : undefined;
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function toCamelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}
