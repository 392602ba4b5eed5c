import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import type { ConsolePage } from '../route.ts';
import { renderForm, renderProblem } from './form.ts';
import { type Filter, renderFilters, renderPager, renderRows, type Table } from './list.ts';
import { renderBreadcrumbs, renderDeclared, renderId, renderNote, renderPanel } from './panel.ts';

interface ApplicationList<Row> extends Omit<Table<Row>, 'labelledBy' | 'rows'> {
  readonly tab: Exclude<ApplicationTab, 'settings'>;
  readonly heading: string;
  readonly page: { readonly rows: readonly Row[]; readonly nextPageToken: string };
  readonly filters?: readonly Filter[];
  readonly above?: Html | false | undefined;
  readonly below?: Html;
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
  { tab, heading, page, columns, empty, filters, above, below, form }: ApplicationList<Row>,
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
${filters && filters.length > 0 && renderFilters(request.query, filters)}
${renderRows({ labelledBy: tab, columns, rows, empty: nextPageToken === '' ? empty : 'None on this page. There may be older ones.' })}
${renderPager(path, request.query, nextPageToken)}
${below}
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

/** The tabs of an application by the last segment of their paths. The settings have the path of the application itself. */
const APPLICATION_TABS = {
  settings: 'Settings',
  keys: 'Keys',
  users: 'Users',
  groups: 'Groups',
  invitations: 'Invitations',
  sessions: 'Sessions',
  webhooks: 'Webhooks',
  events: 'Events',
} as const;

type ApplicationTab = keyof typeof APPLICATION_TABS;

/** Renders the name of an application, and the tabs to its pages. */
export function renderApplicationHeader(
  {
    id,
    name,
    clientId,
    declaredByFile = null,
  }: Pick<ApplicationDetails, 'id' | 'name' | 'clientId'> & Partial<Pick<ApplicationDetails, 'declaredByFile'>>,
  current: ApplicationTab,
): Html {
  return html`${renderBreadcrumbs(['/applications', 'Applications'])}
<div class="bar">
<div>
<h1>${isolate(name)}</h1>
<p class="soft small">${renderId(clientId)}</p>
${renderDeclared('application', declaredByFile)}</div>
<nav class="tabs" aria-label="Application">${Object.entries(APPLICATION_TABS).map(
    ([tab, label]) =>
      html`<a href="/applications/${id}${tab !== 'settings' && `/${tab}`}"${tab === current && html` aria-current="page"`}>${label}</a>`,
  )}</nav>
</div>`;
}
