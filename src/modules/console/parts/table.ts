import { type Html, html } from '../../../http/html.ts';

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
