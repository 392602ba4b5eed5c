/**
 * Lists in pages, newest first. A page begins below the last row of the one before, so new rows move nothing. The order
 * is that of the calls, not of their commits: a row that is committed late may come above pages that were read before.
 */
import { sql } from 'drizzle-orm';
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

/** In the text of the statement: Postgres does not know a parameter, and plans for a tenth of the table. */
export const maxPageLimit = sql.raw(`${MAX_PAGE_SIZE + 1}`);

/** After which row a page begins, and how many rows to read. */
export type PageParameters = { readonly afterAt: Date; readonly afterId: string | null; readonly limit: number };

/** Later than any row. */
const START = { at: new Date('9999-12-31T00:00:00Z'), id: null };

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
  // One row more shows whether there is another page.
  const found = await select({ afterAt: after.at, afterId: after.id, limit: size + 1 });
  const rows = found.slice(0, size);
  const last = rows.at(-1);
  return { rows, nextPageToken: last && found.length > size ? tokens.seal(positionOf(last), scope) : '' };
}
