/** Lists: tables, links to newer and older pages, and filters. */
import { type Html, html } from '../../../http/html.ts';
import type { Offered } from '../statements/named.ts';
import { INSTANT_EXAMPLE, parseInstant } from './moment.ts';

export interface Column<Row> {
  readonly title: string;
  /** Whether the column is hidden on phones. */
  readonly isWide?: boolean;
  /** Whether only screen readers get the title. */
  readonly isUntitled?: boolean;
  readonly cell: (row: Row) => Html | string;
}

export interface Table<Row> {
  /** The ID of the heading that names the table. */
  readonly labelledBy: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** The text of a table without rows. */
  readonly empty: Html | string;
}

export function column<Row>(title: string, cell: Column<Row>['cell']): Column<Row> {
  return { title, cell };
}

export function wideColumn<Row>(title: string, cell: Column<Row>['cell']): Column<Row> {
  return { title, cell, isWide: true };
}

export function actionsColumn<Row>(cell: Column<Row>['cell']): Column<Row> {
  return { title: 'Actions', isUntitled: true, cell };
}

/** Renders a table in a box that scrolls, also by keyboard. */
export function renderRows<Row>({ labelledBy, columns, rows, empty }: Table<Row>, className = 'panel table'): Html {
  if (rows.length === 0) return html`<div class="${className.replace(/ ?\btable\b/, '')} empty"><p>${empty}</p></div>`;
  return html`<div class="${className}" tabindex="0" role="region" aria-labelledby="${labelledBy}">
<table>
<thead><tr>${columns.map(renderTitle)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${columns.map((column) => html`<td${wide(column)}>${column.cell(row)}</td>`)}</tr>\n`)}</tbody>
</table>
</div>`;
}

function renderTitle<Row>(column: Column<Row>): Html {
  const { title, isUntitled } = column;
  return html`<th scope="col"${wide(column)}>${isUntitled ? html`<span class="hide">${title}</span>` : title}</th>`;
}

function wide<Row>({ isWide }: Column<Row>): Html | false {
  return isWide === true && html` class="wide"`;
}

/** The parameter with the tokens of the page and of the pages before it. */
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

/** The URL has the filters, so that Back keeps them and operators can share a link. */
export interface Filter {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  /** What it offers while somebody types. */
  readonly offers?: Offered;
  /** Whether it takes an instant, which people type as pages show it. */
  readonly isInstant?: true;
  /** Renders a drop-down list instead of an input. */
  readonly options?: readonly (readonly [value: string, label: string])[];
}

/** Renders a form with the filters. On phones it is collapsed, unless a filter is in use. */
export function renderFilters(query: URLSearchParams, filters: readonly Filter[]): Html {
  const isUsed = filters.some(({ name }) => query.get(name));
  return html`<details class="fold"${isUsed && html` open`}><summary>Filter</summary>
<form class="filters tight">
${filters.map((filter) => renderFilter(filter, query.get(filter.name) ?? ''))}<div class="actions"><button class="second">Show</button>${
    isUsed && html`<a class="button second" href="?">All</a>`
  }</div>
</form>
</details>`;
}

function renderFilter(
  { name, label, offers, isInstant, placeholder = isInstant && INSTANT_EXAMPLE, options }: Filter,
  value: string,
): Html {
  const input = options
    ? html`<select id="${name}" name="${name}">${options.map(
        ([given, text]) => html`<option value="${given}"${given === value && html` selected`}>${text}</option>`,
      )}</select>`
    : html`<input id="${name}" name="${name}" type="search" value="${value}"${
        placeholder && html` placeholder="${placeholder}"`
      }${offers && html` data-offers="${offers}"`} autocomplete="off" spellcheck="false">`;
  return html`<div class="field"><label for="${name}">${label}</label>${input}</div>\n`;
}

/** Returns the value of a filter, or undefined if it is not in use. */
export function readFilter(query: URLSearchParams, name: string): string | undefined {
  return query.get(name)?.trim() || undefined;
}

/** Returns the instant of a filter in UTC, in the format of the API. Returns other text as it is: the API refuses it. */
export function readInstant(query: URLSearchParams, name: string): string | undefined {
  const text = readFilter(query, name);
  return text && (parseInstant(text) ?? text);
}
