/** Statements written as SQL. Simple statements, with one table and no CTE, use Drizzle's query builder instead. */
import { type GetColumnData, is, Param, Placeholder, type Query, type SQL, sql } from 'drizzle-orm';
import { PgColumn, PgDialect } from 'drizzle-orm/pg-core';
import type { ResultColumns } from './driver.ts';
import type { Layout, PlaceholderValues, Statement, WrittenStatement } from './statement.ts';

/**
 * The columns of a statement's rows: columns of tables, or types of `t`. They are read by name, so their order is free.
 */
export interface RowType {
  /** A nested object takes its columns from the same row. */
  readonly [name: string]: PgColumn | ComputedType<unknown> | RowType;
}

/** Columns of a table, and computed ones beside them. */
export type TableRowType = Readonly<Record<string, PgColumn | ComputedType<unknown>>>;

export type RowOfType<Type> = Type extends PgColumn
  ? GetColumnData<Type>
  : Type extends ComputedType<infer Value>
    ? Value
    : { -readonly [Name in keyof Type]: RowOfType<Type[Name]> };

/** The type of a value that is not a column of a table. */
export interface ComputedType<Value> {
  /** As `format_type` of Postgres writes it. */
  readonly sqlType: string;
  decode(value: unknown): Value;
}

/**
 * Returns a tag for a prepared statement: `statement('find_user', { id: users.id })`select id from users ...``.
 * SQL comments are removed before the text is sent.
 *
 * `ifDistributed` after the template adds the form for Citus. Before it, like `ifWhole`, it makes this the only form: the
 * other layout gets no statement, and its callers `undefined`.
 */
export function statement<const Type extends RowType>(name: string, rowType?: Type) {
  type Rows = RowOfType<Type>[];
  const create = <Given>(...[strings, ...parts]: TemplateArguments) =>
    createStatement<Given>(name, rowType, () => compile(sql(strings, ...parts)));
  const tag = (...given: TemplateArguments) => {
    const whole = create<Rows>(...given);
    const ifDistributed = (...other: TemplateArguments) =>
      withForms(whole, { whole, distributed: create<Rows>(...other) });
    return Object.assign(whole, { ifDistributed });
  };
  const only =
    (layout: Layout) =>
    (...given: TemplateArguments) => {
      const form = create<Rows | undefined>(...given);
      return withForms(form, { [layout]: form });
    };
  return Object.assign(tag, { ifWhole: only('whole'), ifDistributed: only('distributed') });
}

/** Returns the first form, which stands for all. */
function withForms<Form extends Template<unknown>>(first: Form, forms: Partial<Record<Layout, Form>>): Form {
  for (const form of Object.values(forms)) Object.assign(form, { forms });
  return first;
}

type TemplateArguments = [strings: TemplateStringsArray, ...parts: readonly SQL[]];

function createStatement<Rows>(name: string, rowType: RowType | undefined, build: () => Query): Template<Rows> {
  const getQuery = memoize(build);
  const getParameters = memoize(() => getQuery().params.map(toParameter));
  let read: ReadValue | undefined;
  const written: WrittenStatement<Rows> = {
    getQuery,
    encode: (parameters) => encodeAll(getParameters(), parameters),
    decode(rows, columns) {
      if (rows.length > 0) read ??= createReader(rowType ?? {}, columns);
      return rows.map((row) => read?.(row)) as Rows;
    },
  };
  const named = Object.defineProperty(() => written, 'name', { value: toCamelCase(name) });
  return Object.assign(named, { queryName: name, rowType, text: () => getQuery().sql });
}

export interface Template<Rows> extends Statement<Rows> {
  (): WrittenStatement<Rows>;
  readonly queryName: string;
  readonly rowType: RowType | undefined;
  text(): string;
}

const asIs = <Value>(sqlType: string): ComputedType<Value> => ({ sqlType, decode: (value) => value as Value });

/** Types of values that are not columns of a table. */
export const t = {
  boolean: asIs<boolean>('boolean'),
  integer: asIs<number>('integer'),
  float: asIs<number>('double precision'),
  bigint: asIs<string>('bigint'),
  text: asIs<string>('text'),
  textOf: <Value extends string>() => asIs<Value>('text'),
  uuid: asIs<string>('uuid'),
  instant: {
    sqlType: 'timestamp with time zone',
    // As of other types, a column of a row that a statement has not found stays null.
    decode: (value) => (value === null ? value : readStoredInstant(value as string)),
  } as ComputedType<Date>,
  json: <Value>() => asIs<Value>('json'),
  jsonb: <Value>() => asIs<Value>('jsonb'),
};

export function nullable<Value>({ sqlType, decode }: ComputedType<Value>): ComputedType<Value | null> {
  return { sqlType, decode: (value) => (value === null ? null : decode(value)) };
}

const parameter = (type: string, encode = (value: unknown) => value) => {
  const encoder = { sqlType: type, mapToDriverValue: (value: unknown) => (value === null ? null : encode(value)) };
  return (name: string): SQL => sql`${new Param(sql.placeholder(name), encoder)}`;
};

/** @param encode writes a value as an element. Null is a valid element. */
const toArray = (values: unknown, encode: (value: unknown) => string = String) =>
  `{${(values as unknown[]).map((each) => (each === null ? 'null' : encode(each)))}}`;

/** JSON is cheaper, and the same but for its escapes of other characters. */
function toTextArray(values: unknown): string {
  const json = JSON.stringify(values);
  return /\\[^"\\]/.test(json) ? toArray(values, quote) : `{${json.slice(1, -1)}}`;
}

const quote = (text: unknown) => `"${String(text).replace(/["\\]/g, '\\$&')}"`;

/** Parameters of a template, by type. Each takes its name, and null is a valid value of all. */
export const p = {
  bigint: parameter('bigint'),
  bigints: parameter('bigint[]', toArray),
  boolean: parameter('boolean'),
  bytes: parameter('bytea'),
  instant: parameter('timestamptz', (instant) => writeStoredInstant(instant as Date)),
  instants: parameter('timestamptz[]', (instants) =>
    toArray(instants, (instant) => writeStoredInstant(instant as Date)),
  ),
  integer: parameter('integer'),
  json: parameter('json', (value) => JSON.stringify(value)),
  jsonb: parameter('jsonb', (value) => JSON.stringify(value)),
  text: parameter('text'),
  texts: parameter('text[]', toTextArray),
  uuid: parameter('uuid'),
  uuids: parameter('uuid[]', toArray),
  of: (column: PgColumn, name: string) =>
    parameter(column.getSQLType(), (value) => column.mapToDriverValue(value))(name),
};

/** Returns the select list that yields rows of the type: `e.id as event_id, e.name`. */
export function columnsOf(columns: TableRowType, alias?: string): SQL {
  const list = Object.entries(columns).map(([key, type]) => {
    const name = toSnakeCase(key);
    const column = is(type, PgColumn) ? type.name : name;
    return (alias ? `${alias}.` : '') + (column === name ? name : `${column} as ${name}`);
  });
  return sql.raw(list.join(', '));
}

/** Where the value of a parameter comes from: it has a name, or is in the text of the statement. */
interface TemplateParameter {
  readonly name: string | undefined;
  readonly value: unknown;
  readonly encoder: Param['encoder'] | undefined;
}

function toParameter(parameter: unknown): TemplateParameter {
  const { value, encoder } = is(parameter, Param) ? parameter : { value: parameter, encoder: undefined };
  return is(value, Placeholder) ? { name: value.name, value: undefined, encoder } : { name: undefined, value, encoder };
}

function encodeAll(parameters: readonly TemplateParameter[], given: PlaceholderValues): unknown[] {
  const values: unknown[] = [];
  for (const { name, value: constant, encoder } of parameters) {
    const value = name === undefined ? constant : given[name];
    if (value === undefined) throw new Error(`The parameter ${name} has no value`);
    values.push(encoder ? encoder.mapToDriverValue(value) : value);
  }
  return values;
}

function memoize<Value>(compute: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= compute());
}

type ReadValue = (row: readonly unknown[]) => unknown;

function createReader(type: RowType, columns: ResultColumns): ReadValue {
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

/** Returns the name that a column of rows has in SQL. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function toCamelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}

/** The text of a template, as Postgres gets it. */
const dialect = new PgDialect();

/**
 * Gives each parameter one number and one cast, however often it occurs: each number costs the process and Postgres a
 * few microseconds per execution. Also removes comments and white space.
 */
function compile(template: SQL): Query {
  const { sql: text, params } = dialect.sqlToQuery(template);
  const shared: unknown[] = [];
  const renumbered = text.replace(/\$(\d+)/g, (_, number) => {
    const param = params[number - 1];
    const index = shared.findIndex((other) => isSame(param, other));
    return index < 0 ? `$${shared.push(param)}${castOf(param)}` : `$${index + 1}`;
  });
  return { sql: renumbered.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim(), params: shared };
}

function castOf(param: unknown): string {
  return is(param, Param) && 'sqlType' in param.encoder ? `::${param.encoder.sqlType}` : '';
}

function isSame(one: unknown, other: unknown): boolean {
  if (is(one, Placeholder)) return is(other, Placeholder) && one.name === other.name;
  if (!is(one, Param) || !is(other, Param)) return false;
  return is(one.value, Placeholder) && one.encoder === other.encoder && isSame(one.value, other.value);
}

/**
 * Reads an instant as Postgres writes it, such as `2026-06-15 18:00:00.12+00`. JavaScript takes that form of a year
 * before 100 for a date of another year, or for none. It knows ISO 8601 of all years, but is slower there.
 */
export function readStoredInstant(text: string): Date {
  return new Date(text.startsWith('0') ? text.replace(' ', 'T').replace(/[+-]\d\d$/, '$&:00') : text);
}

/** Writes an instant for Postgres, which puts no sign before a year after 9999. */
export function writeStoredInstant(instant: Date): string {
  const iso = instant.toISOString();
  return iso.startsWith('+') ? iso.slice(2) : iso;
}
