import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { type Html, html } from '../../../http/html.ts';
import type { ConsoleRequest } from '../console-request.ts';
import type { ConsolePage } from '../route.ts';
import { APPLICATION_TABS, type ApplicationTab, renderApplicationHeader } from './application-header.ts';
import { renderProblem } from './field.ts';
import { type Filter, renderFilters } from './filters.ts';
import { renderForm } from './form.ts';
import { renderPager } from './pager.ts';
import { renderNote, renderPanel } from './panel.ts';
import { renderRows, type Table } from './table.ts';

interface ApplicationList<Row> extends Omit<Table<Row>, 'labelledBy' | 'rows'> {
  readonly tab: Exclude<ApplicationTab, 'settings'>;
  readonly heading: string;
  readonly page: { readonly rows: readonly Row[]; readonly nextPageToken: string };
  readonly filters?: readonly Filter[];
  readonly above?: Html | false | undefined;
  readonly form?: NewForm | false;
}

interface NewForm {
  readonly title: string;
  /** The label of its button. Defaults to `Create`. */
  readonly submit?: string;
  /** The names of its fields: their errors are shown beside them. */
  readonly shown: readonly string[];
  readonly fields: Html;
  /** Whether a long form is hidden until it is asked for, or refused. */
  readonly isFolded?: true;
}

export function renderApplicationList<Row>(
  request: ConsoleRequest,
  application: ApplicationDetails,
  { tab, heading, page, columns, empty, filters, above, form }: ApplicationList<Row>,
): ConsolePage {
  const { rows, nextPageToken } = page;
  const path = `/applications/${application.id}/${tab}`;
  return {
    title: `${APPLICATION_TABS[tab]} of ${application.name}`,
    section: 'applications',
    body: html`${renderApplicationHeader(application, tab)}
${renderNote(request)}
${above}
<h2 id="${tab}">${heading}</h2>
${filters && renderFilters(request.query, filters)}
${renderRows({ labelledBy: tab, columns, rows, empty: nextPageToken === '' ? empty : 'None on this page. There may be older ones.' })}
${renderPager(path, request.query, nextPageToken)}
${form && renderNewForm(request, path, form)}`,
  };
}

function renderNewForm(
  request: ConsoleRequest,
  path: string,
  { title, submit = 'Create', shown, fields, isFolded }: NewForm,
): Html {
  const form = renderForm(
    path,
    html`${renderProblem(request, shown)}
${fields}
<div class="actions"><button>${submit}</button></div>`,
    'fields tight body sheet',
  );
  if (!isFolded) return renderPanel('new', title, form);
  return html`<details class="panel"${request.problem && html` open`}><summary>${title}</summary>
${form}
</details>`;
}
