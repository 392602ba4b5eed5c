/** Texts of the schema and of the guides as HTML. */
import { type Html, html } from '../../http/html.ts';

/** Returns the text with what stands in backticks as code. */
export function renderText(text: string): Html {
  const parts = text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
  return html`${parts}`;
}

/** Returns a block of code in which the variables of the shell stand out. */
export function renderCode(code: string): Html {
  const parts = code
    .split(/(\$[A-Z_]{3,})/)
    .map((part, index) => (index % 2 === 1 ? html`<var>${part}</var>` : html`${part}`));
  // Whoever has no mouse scrolls it by the keyboard.
  return html`<pre tabindex="0"><code>${parts}</code></pre>`;
}

/** Returns a table whose cells may have code in backticks. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): Html {
  const cells = (row: readonly string[]) => row.map((cell) => html`<td>${renderText(cell)}</td>`);
  return html`<div class="table" tabindex="0"><table>
<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>\n`)}</tbody>
</table></div>`;
}
