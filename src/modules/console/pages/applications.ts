import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { listApplications } from '../../../domain/applications/list-applications.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
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
      ? { rows: await findTeamApplications(call, operator), nextPageToken: '' }
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

/** Leaves out deleted applications, which `OPERATORS_FILE` may still name. */
async function findTeamApplications(
  call: Call,
  { applicationIds }: ConsoleRequest['operator'],
): Promise<ApplicationDetails[]> {
  const found = await Promise.all(applicationIds.map((id) => findApplication(call, id).catch(ignoreMissing)));
  return found.filter((application) => application !== undefined);
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.reason !== 'APPLICATION_NOT_FOUND') throw error;
  return undefined;
}

const COLUMNS = [
  column('Name', ({ id, name }: ApplicationDetails) => html`<a href="/applications/${id}">${isolate(name)}</a>`),
  wideColumn('Client ID', ({ clientId }: ApplicationDetails) => html`<code>${isolate(clientId)}</code>`),
  wideColumn('Signing in', describeSignUp),
  column('Created', ({ createdAt }: ApplicationDetails) => renderDay(createdAt)),
];

function describeSignUp({ allowSignUp, signUpEmailDomains: domains }: ApplicationDetails): string {
  if (!allowSignUp) return 'Users only';
  return domains.length === 0 ? 'Everyone' : 'Users, and addresses of listed domains';
}
