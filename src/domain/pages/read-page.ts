/**
 * Reads lists in pages (keyset pagination), the newest rows first. A page begins after the last row of the previous
 * page, so new rows shift nothing. Rows have the time of their call, not of its commit. So a row that commits late may
 * belong on a page that was read before.
 */
import { sql } from 'drizzle-orm';
import { integer, optional, text } from '../core/validation.ts';
import type { PageScope, PageTokens, Position } from './page-tokens.ts';

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
  const last = rows.at(-1);
  const reached = last && found.length > size ? positionOf(last) : await findReached?.(parameters);
  return { rows, nextPageToken: reached ? tokens.seal(reached, scope) : '' };
}
