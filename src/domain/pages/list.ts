/**
 * Reads lists in pages (keyset pagination), the newest rows first. A page begins after the last row of the previous
 * page, so new rows shift nothing. Rows have the time of their call, not of its commit. So a row that commits late may
 * belong on a page that was read before.
 */

import { getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Statement } from '../../database/pool/database.ts';
import {
  columnsOf,
  p,
  type RowOfType,
  statement,
  type TableRowType,
  toSnakeCase,
} from '../../database/sql/template.ts';
import type { ApplicationCall, Call } from '../core/call.ts';
import { invalidField } from '../core/errors.ts';
import type { Rule } from '../core/rule.ts';
import { type Checked, check, integer, optional, text, type Unchecked } from '../core/validation.ts';
import { openToken, sealToken } from '../crypto/aes-gcm.ts';
import { type DerivedKeys, deriveKeys } from '../crypto/derived-keys.ts';

/** The list for which a token is valid: its name, the application or user to which it belongs, and its filters. */
export type PageScope = readonly (string | number | boolean | null | readonly string[])[];

/** The position of a row in a list that is ordered by time, and by ID within the same time. */
interface Position {
  readonly at: Date;
  readonly id: string;
}

/** A token contains the position of the last row of a page. It is encrypted, so that callers can neither read nor alter it, nor use it for another list. */
export class PageTokens {
  /** The first key encrypts, and all keys decrypt. */
  readonly #keys: DerivedKeys;

  constructor(encryptionKeys: readonly Buffer[]) {
    this.#keys = deriveKeys(encryptionKeys, 'page token');
  }

  seal({ at, id }: Position, scope: PageScope): string {
    return sealToken(this.#keys, JSON.stringify([at.getTime(), id]), JSON.stringify(scope));
  }

  /** Returns undefined for a token that was altered, or that is for another scope. */
  find(token: string, scope: PageScope): Position | undefined {
    const text = openToken(this.#keys, token, JSON.stringify(scope));
    if (text === undefined) return undefined;
    const [at, id] = JSON.parse(text);
    return { at: new Date(at), id };
  }

  /** @throws ServiceError `Validation failed` for a token that was altered, or that is for another scope */
  open(token: string, scope: PageScope, field: 'pageToken' | 'cursor' = 'pageToken'): Position {
    const source = field === 'pageToken' ? 'nextPageToken' : 'cursor';
    const position = this.find(token, scope);
    if (!position) throw invalidField(field, `must be the ${source} of the same list`);
    return position;
  }
}

export const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 100;

export const cursorRule = text({ min: 0, max: 4_096, format: 'cursor' });

/** The fields of every list. */
export const pageRules = {
  pageSize: optional(integer({ min: 1, max: MAX_PAGE_SIZE })),
  pageToken: optional(text({ min: 0, max: 4_096, format: 'page-token' })),
};

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** A constant of the SQL text: for a limit in a parameter, a generic plan expects a tenth of the rows. */
export const maxPageLimit = sql.raw(`${MAX_PAGE_SIZE + 1}`);

/** The position after which a page begins, and the number of rows to read. */
export type PageParameters = { readonly afterAt: Date; readonly afterId: string | null; readonly limit: number };

/** Later than any row: an imported user may be of the end of the year 9999. */
const START = { at: new Date(Date.UTC(10_000, 0)), id: null };

type Rules = Readonly<Record<string, Rule<unknown>>>;

interface PageParts<Type extends TableRowType> {
  readonly columns: Type;
  /** Two of `columns`, both of one table. Rows are in descending order, and an index must have this order. */
  readonly order: readonly [at: PgColumn, id: PgColumn];
  /** `columns` as SQL. Required if one of them is no column of that table. */
  readonly select?: SQL;
  readonly join?: SQL;
  /** Which rows of the table are listed. */
  readonly where?: SQL;
  /**
   * Which rows a page looks through, MAX_READ at most, of which `where` lists some: a page may then be empty and have a
   * token. For a `where` that most rows may violate at once, such as one that asks for revocations.
   */
  readonly among?: SQL;
  /** Whether Postgres plans every execution anew: a parameter as limit makes a generic plan look expensive. */
  readonly isPlannedAnew?: boolean;
}

interface ListParts<Caller, Type extends TableRowType, Filters extends Rules> extends PageParts<Type> {
  /** The name of the list in the scope of page tokens. */
  readonly name: string;
  /** Returns parameters that the caller decides, such as the ID of its application. */
  readonly of?: (call: Caller) => Readonly<Record<string, string>>;
  /** Returns parameters that the caller decides, and that do not change which rows are listed. */
  readonly with?: (call: Caller) => Readonly<Record<string, unknown>>;
  /** The rules of the fields of a request, without `pageRules`. The fields are parameters, too. */
  readonly rules?: Filters;
  /** Returns another statement, for filters that need another index. */
  readonly find?: (
    filters: Checked<Filters>,
    call: Caller,
  ) => Promise<Statement<RowOfType<Type>[]> | undefined> | Statement<RowOfType<Type>[]> | undefined;
  /** Called if a page is empty. Throws if the resource to which the list belongs does not exist. */
  readonly requireParent?: (call: Caller, filters: Checked<Filters>) => Promise<unknown>;
}

const MAX_READ = 500;

export const ofApplication = ({ application }: ApplicationCall) => ({ applicationId: application.id });

/** Returns a function that reads pages of a list. Parameters of its SQL: `now`, and all of `of` and `rules`. */
export function createList<
  Caller extends Call,
  const Type extends TableRowType,
  Filters extends Rules = Record<never, never>,
>(
  statementName: string,
  { name, of, with: given, rules = {} as Filters, find, requireParent, ...parts }: ListParts<Caller, Type, Filters>,
) {
  const selectRows = selectPage(statementName, parts);
  const selectReached = parts.among && selectLastRead(`${statementName}_reached`, parts, parts.among);
  const [at, id] = keysOf(parts);
  // The columns of `order` have these types.
  const positionOf = (row: RowOfType<Type>) => ({ at: row[at], id: row[id] }) as Position;
  return async (
    call: Caller,
    tokens: PageTokens,
    request: Unchecked<Extract<keyof Filters | keyof typeof pageRules, string>>,
  ): Promise<Page<RowOfType<Type>>> => {
    const fields = check(request, { ...rules, ...pageRules }) as Checked<Filters> & Checked<typeof pageRules>;
    const { pageSize, pageToken, ...filters } = fields;
    const parameters = { ...of?.(call), ...filters };
    const scope = [name, ...Object.values(parameters)] as PageScope;
    const found = await find?.(fields, call);
    const page = await readPage(
      tokens,
      scope,
      { pageSize, pageToken },
      (position) => call.run(found ?? selectRows, { now: call.now, ...given?.(call), ...parameters, ...position }),
      positionOf,
      selectReached && !found
        ? async (position) => (await call.run(selectReached, { ...parameters, ...position })).map(positionOf)[0]
        : undefined,
    );
    if (page.rows.length === 0) await requireParent?.(call, fields);
    return page;
  };
}

export function selectPage<const Type extends TableRowType>(
  name: string,
  {
    columns,
    order,
    select = columnsOf(columns),
    join = sql``,
    where = sql`true`,
    among,
    isPlannedAnew,
  }: PageParts<Type>,
) {
  const [at, id] = order;
  const newestFirst = keysOf({ columns, order }).map((key) => `${toSnakeCase(key)} desc`);
  const limit = p.integer('limit');
  const table = sql.raw(getTableName(at.table));
  const rows = among
    ? sql`select ${select} from (select * ${sortedAfter(order, among)} limit ${maxRead}) as ${table} ${join}
    -- Equivalent: limit: a page takes no more rows than it wants
    where ${where} order by ${at} desc, ${id} desc limit ${isPlannedAnew ? limit : maxPageLimit}`
    : // Equivalent: limit: a page takes no more rows than it wants
      sql`select ${select} ${sortedAfter(order, where, join)} limit ${isPlannedAnew ? limit : maxPageLimit}`;
  // Equivalent: guard: the same rows, but Postgres would plan for more
  if (isPlannedAnew) return statement(name, columns)`${rows}`;
  return statement(name, columns)`
    select * from (${rows}) as page order by ${sql.raw(newestFirst.join(', '))}
    -- Equivalent: limit: a page takes no more rows than it wants
    limit ${limit}`;
}

const maxRead = sql.raw(String(MAX_READ));

function sortedAfter([at, id]: readonly [PgColumn, PgColumn], where: SQL, join: SQL = sql``): SQL {
  return sql`from ${sql.raw(getTableName(at.table))} ${join}
    where ${where} and (${at}, ${id}) < (${p.instant('afterAt')}, ${p.of(id, 'afterId')})
    order by ${at} desc, ${id} desc`;
}

/** Returns a statement for the last row that a page looks through, or for none if the list ends before. */
function selectLastRead<Type extends TableRowType>(name: string, { columns, order }: PageParts<Type>, among: SQL) {
  // The positions of rows need no other columns.
  const keys = Object.fromEntries(keysOf({ columns, order }).map((key) => [key, columns[key]])) as unknown as Type;
  return statement(name, keys)`
    select ${columnsOf(keys)} ${sortedAfter(order, among)}
    -- Equivalent: limit: the first one counts
    limit 1 offset ${maxRead} - 1`;
}

function keysOf<Type extends TableRowType>({ columns, order }: Pick<PageParts<Type>, 'columns' | 'order'>) {
  return order.map((column) => {
    const key = Object.keys(columns).find((name) => columns[name] === column);
    if (!key) throw new Error(`Rows have no ${column.name}`);
    return key;
  }) as [keyof RowOfType<Type> & string, keyof RowOfType<Type> & string];
}

/**
 * Returns the page after the token, or the first page if there is no token.
 *
 * @param request the fields that `pageRules` has checked
 * @param select returns the rows after a position, the newest first
 * @param findReached returns the position up to which `select` has looked, if there may be rows after it. The page may
 * have few rows then, or none.
 * @throws ServiceError `Validation failed` for a token that was altered, or that is for another scope
 */
export async function readPage<Row>(
  tokens: PageTokens,
  scope: PageScope,
  { pageSize, pageToken }: { readonly pageSize: number | null; readonly pageToken: string | null },
  select: (parameters: PageParameters) => Promise<readonly Row[]>,
  positionOf: (row: Row) => Position,
  findReached?: (parameters: PageParameters) => Promise<Position | undefined>,
): Promise<Page<Row>> {
  const size = pageSize ?? DEFAULT_PAGE_SIZE;
  const after = pageToken ? tokens.open(pageToken, scope) : START;
  // One more row shows whether there is another page.
  const parameters = { afterAt: after.at, afterId: after.id, limit: size + 1 };
  const found = await select(parameters);
  const rows = found.slice(0, size);
  const reached = found.length > size ? positionOf(rows.at(-1) as Row) : await findReached?.(parameters);
  return { rows, nextPageToken: reached ? tokens.seal(reached, scope) : '' };
}
