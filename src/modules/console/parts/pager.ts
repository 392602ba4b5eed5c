/** Links to newer and older pages of a list. The URL has the token of the page, and those of the pages before it. */
import { type Html, html } from '../../../http/html.ts';

const PARAMETER = 'page';
const SEPARATOR = '.';
/** Limits the length of the URL. After this many steps back, `Newer` leads to the first page. */
const MAX_STEPS_BACK = 20;
const PAGE_SIZE = 50;
/** The size for lists whose rows need look-ups in other tables. Postgres reads about five buffers for each look-up. */
export const JOINED_PAGE_SIZE = 35;

/** Returns the fields of a list's request for the page that the query names. */
export function pageFields(query: URLSearchParams, pageSize = PAGE_SIZE): { pageSize: number; pageToken: string } {
  return { pageSize, pageToken: readTokens(query).at(-1) ?? '' };
}

/** Renders links to the newer and the older page, which keep the filters. False if the list has a single page. */
export function renderPager(path: string, query: URLSearchParams, nextPageToken: string): Html | false {
  const tokens = readTokens(query);
  if (tokens.length === 0 && nextPageToken === '') return false;
  const link = (linked: readonly string[]) => {
    const next = new URLSearchParams(query);
    next.delete(PARAMETER);
    if (linked.length > 0) next.set(PARAMETER, linked.slice(-MAX_STEPS_BACK).join(SEPARATOR));
    const search = next.toString();
    return `${path}${search && `?${search}`}`;
  };
  const newer =
    tokens.length > 0 && html`<a class="button second" rel="prev" href="${link(tokens.slice(0, -1))}">Newer</a>`;
  const older =
    nextPageToken !== '' &&
    html`<a class="button second" rel="next" href="${link([...tokens, nextPageToken])}">Older</a>`;
  return html`<nav class="bar tight" aria-label="Pages">${newer || html`<span></span>`}${older}</nav>`;
}

export function withFilters(path: string, query: URLSearchParams): string {
  const filters = new URLSearchParams([...query].filter(([name, value]) => name !== PARAMETER && value !== ''));
  return filters.size > 0 ? `${path}?${filters}` : path;
}

function readTokens(query: URLSearchParams): string[] {
  return (query.get(PARAMETER) ?? '').split(SEPARATOR).filter((token) => token !== '');
}
