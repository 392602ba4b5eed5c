import type { ApplicationDetails } from '../../domain/applications/application.ts';
import { listApplications } from '../../domain/applications/list-applications.ts';
import { html } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import { type ConsoleRequest, findApplication } from '../console-request.ts';
import { renderDay } from '../parts/moment.ts';
import { pageFields, renderPager } from '../parts/pager.ts';
import { renderNote } from '../parts/panel.ts';
import { column, renderRows, wideColumn } from '../parts/table.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

/** Shows a team its own applications only. */
export async function showApplications(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, operator, parts, query } = request;
  const { rows, nextPageToken } =
    operator.role === 'team'
      ? { rows: await Promise.all(operator.applicationIds.map((id) => findApplication(call, id))), nextPageToken: '' }
      : await listApplications(call, parts.pageTokens, pageFields(query));
  const mayCreate = includesRole(operator.role, 'admin');
  const empty = html`There are no applications yet.${mayCreate && html` <a href="/applications/new">Create one</a>`}`;
  return {
    title: 'Applications',
    section: 'applications',
    body: html`<div class="bar"><h1 id="applications">Applications</h1>${
      mayCreate && html`<a class="button tight" href="/applications/new">Create an application</a>`
    }</div>
${renderNote(request)}
${renderRows({ labelledBy: 'applications', columns: COLUMNS, rows, empty })}
${renderPager('/applications', query, nextPageToken)}`,
  };
}

const COLUMNS = [
  column('Name', ({ id, name }: ApplicationDetails) => html`<a href="/applications/${id}">${isolate(name)}</a>`),
  wideColumn('Client ID', ({ clientId }: ApplicationDetails) => html`<code>${isolate(clientId)}</code>`),
  wideColumn('Signing in', ({ allowSignUp }: ApplicationDetails) => (allowSignUp ? 'Everyone' : 'Users only')),
  column('Created', ({ createdAt }: ApplicationDetails) => renderDay(createdAt)),
];
