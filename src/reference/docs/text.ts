import { type Html, html } from '../../http/html.ts';

export function renderText(text: string): Html {
  const parts = text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
  return html`${parts}`;
}

/** Renders a block of code. Marks shell variables unless `marksVariables` is false. */
export function renderCodeBlock(code: string, { marksVariables = true } = {}): Html {
  const parts = (marksVariables ? code.split(/(\$[A-Z_]{3,})/) : [code]).map((part, index) =>
    index % 2 === 1 ? html`<var>${part}</var>` : html`${part}`,
  );
  // `tabindex` lets the keyboard scroll the block.
  return html`<div class="sheet"><pre tabindex="0"><code>${parts}</code></pre></div>`;
}

/** Cells may have code in backticks. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): Html {
  const cells = (row: readonly string[]) => row.map((cell) => html`<td>${renderText(cell)}</td>`);
  return html`<div class="table" tabindex="0"><table>
<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>\n`)}</tbody>
</table></div>`;
}
