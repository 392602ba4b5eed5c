/** Filters of a list. The URL has them, so that Back keeps them and operators can share a link. */
import { type Html, html } from '../../../http/html.ts';
import { INSTANT_EXAMPLE, parseInstant } from './moment.ts';

export interface Filter {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
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
  { name, label, isInstant, placeholder = isInstant && INSTANT_EXAMPLE, options }: Filter,
  value: string,
): Html {
  const input = options
    ? html`<select id="${name}" name="${name}">${options.map(
        ([given, text]) => html`<option value="${given}"${given === value && html` selected`}>${text}</option>`,
      )}</select>`
    : html`<input id="${name}" name="${name}" type="search" value="${value}"${
        placeholder && html` placeholder="${placeholder}"`
      } autocomplete="off" spellcheck="false">`;
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
