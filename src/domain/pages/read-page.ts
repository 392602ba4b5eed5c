/**
 * Lists in pages, newest first. A page begins below the last row of the one before, so new rows move nothing. The order
 * is that of the calls, not of their commits: a row that is committed late may come above pages that were read before.
 */
import { and, desc, getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Db } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { integer, optional, text } from '../validation.ts';
import type { PageScope, PageTokens, Position } from './page-tokens.ts';

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 100;

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

/** The values of the placeholders of `startsAfter` and `pageLimit`. */
export type PageParameters = { readonly afterAt: Date; readonly afterId: string; readonly limit: number };

/** Later than any row. Its ID is well-formed for columns of text and of UUIDs. */
const START: Position = { at: new Date('9999-12-31T00:00:00Z'), id: '00000000-0000-0000-0000-000000000000' };

/**
 * Returns the page that the token continues with, or the first.
 *
 * @param request the fields that `pageRules` has checked
 * @param select returns the rows after a position, the newest first
 * @throws ServiceError `Validation failed` for a token that is altered or of another scope
 */
export async function readPage<Row>(
  tokens: PageTokens,
  scope: PageScope,
  { pageSize, pageToken }: { readonly pageSize: number | null; readonly pageToken: string | null },
  select: (parameters: PageParameters) => Promise<readonly Row[]>,
  positionOf: (row: Row) => Position,
): Promise<Page<Row>> {
  const size = pageSize ?? DEFAULT_PAGE_SIZE;
  const after = pageToken ? tokens.open(pageToken, scope) : START;
  // One row more tells whether there is another page.
  const found = await select({ afterAt: after.at, afterId: after.id, limit: size + 1 });
  const rows = found.slice(0, size);
  const last = rows.at(-1);
  return { rows, nextPageToken: last && found.length > size ? tokens.seal(positionOf(last), scope) : '' };
}

/** Selects the rows after a position, for a list that an index on these columns orders. */
export function startsAfter(at: PgColumn, id: PgColumn): SQL {
  return sql`(${at}, ${id}) < (${instantPlaceholder('afterAt')}, ${sql.placeholder('afterId')})`;
}

/** Orders a list by the columns of `startsAfter`. */
export function newestFirst(at: PgColumn, id: PgColumn): [SQL, SQL] {
  return [desc(at), desc(id)];
}

export const pageLimit = sql.placeholder('limit');

/** In the text of the statement: Postgres does not know a parameter, and plans for a tenth of the table. */
export const maxPageLimit = sql.raw(`${MAX_PAGE_SIZE + 1}`) as unknown as typeof pageLimit;

/** Selects a page of a table's rows as a subquery that has the name of the table. */
export function selectPage<Table extends PgTable>(
  db: Db,
  table: Table,
  [at, id]: readonly [at: PgColumn, id: PgColumn],
  condition?: SQL,
) {
  const name: Table['_']['name'] = getTableName(table);
  const rows = db
    .select()
    .from(table as PgTable)
    .where(and(condition, startsAfter(at, id)))
    .orderBy(...newestFirst(at, id))
    .limit(maxPageLimit)
    .as(name);
  return db
    .select()
    .from(rows)
    .orderBy(...newestFirst(at, id))
    .limit(pageLimit)
    .as(name);
}
