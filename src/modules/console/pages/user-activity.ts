/** The live sessions and the applications of a user, and the audit events on the user. */
import { listAuditEvents } from '../../../domain/audit/list-audit-events.ts';
import type { Page } from '../../../domain/pages/list.ts';
import { listUserSessions } from '../../../domain/sessions/list-user-sessions.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import { listUserApplications } from '../../../domain/users/list-user-applications.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { renderAuditList } from '../parts/audit-list.ts';
import {
  type Column,
  column,
  JOINED_PAGE_SIZE,
  pageFields,
  renderPager,
  renderRows,
  wideColumn,
} from '../parts/list.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import { renderActionButton, renderBreadcrumbs, renderBrowser, renderPanel } from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

/** The length of each list on the page of the user. A link leads to the whole list. */
const SHORT_LIST = 10;

type UserSession = Awaited<ReturnType<typeof listUserSessions>>['rows'][number];
type UserApplication = Awaited<ReturnType<typeof listUserApplications>>['rows'][number];

export async function renderActivity(request: ConsoleRequest, userId: string): Promise<Html> {
  const { call, operator, parts } = request;
  const page = { userId, pageSize: SHORT_LIST };
  const [sessions, applications, events] = await Promise.all([
    listUserSessions(call, parts.pageTokens, page),
    listUserApplications(call, parts.pageTokens, page),
    listAuditEvents(call, parts.pageTokens, { resource: userId, pageSize: SHORT_LIST }),
  ]);
  const mayEnd = includesRole(operator.role, 'support') && sessions.rows.length > 0;
  const path = `/users/${userId}`;
  const log = html`<a class="small" href="/audit?${new URLSearchParams({ resource: userId }).toString()}">In the audit log</a>`;
  const all = ({ nextPageToken }: { readonly nextPageToken: string }, list: string) =>
    nextPageToken !== '' && html`<a class="small" href="${path}/${list}">All ${list}</a>`;
  return html`${renderPanel(
    'live',
    'Live sessions',
    renderRows({ labelledBy: 'live', columns: SESSION_COLUMNS, rows: sessions.rows, empty: NO_SESSION }, 'table'),
    html`<div class="actions end">${all(sessions, 'sessions')}${mayEnd && renderActionButton(`${path}/end-sessions`, 'End all sessions', 'danger')}</div>`,
    'panel tight',
  )}
${renderPanel(
  'where',
  'Applications',
  renderRows(
    { labelledBy: 'where', columns: APPLICATION_COLUMNS, rows: applications.rows, empty: NEVER_SIGNED_IN },
    'table',
  ),
  all(applications, 'applications'),
)}
${renderPanel(
  'done',
  'Changes of this user',
  await renderAuditList(request, events.rows, { level: 3, empty: 'No events in the log.', isOfResource: true }),
  log,
)}`;
}

const NO_SESSION = 'No live session.';
const NEVER_SIGNED_IN = 'Has never signed in.';

export const showUserSessions = (request: ConsoleRequest) =>
  showAll(request, 'sessions', 'Live sessions', listUserSessions, SESSION_COLUMNS, NO_SESSION);

export const showUserApplications = (request: ConsoleRequest) =>
  showAll(request, 'applications', 'Applications', listUserApplications, APPLICATION_COLUMNS, NEVER_SIGNED_IN);

type List<Row> = (
  call: ConsoleRequest['call'],
  tokens: ConsoleRequest['parts']['pageTokens'],
  fields: { readonly userId: string },
) => Promise<Page<Row>>;

/** Shows one of the lists on a page of its own. */
async function showAll<Row>(
  { call, params, parts, query }: ConsoleRequest,
  name: string,
  heading: string,
  list: List<Row>,
  columns: readonly Column<Row>[],
  empty: string,
): Promise<ConsolePage> {
  const { id, email } = await getUser(call, { userId: params.u });
  const given = { userId: id, ...pageFields(query, JOINED_PAGE_SIZE) };
  const { rows, nextPageToken } = await list(call, parts.pageTokens, given);
  return {
    title: `${heading} of ${email}`,
    section: 'users',
    body: html`${renderBreadcrumbs(['/users', 'Users'], [`/users/${id}`, isolate(email)])}
<h1 id="${name}">${heading}</h1>
${renderRows({ labelledBy: name, columns, rows, empty })}
${renderPager(`/users/${id}/${name}`, query, nextPageToken)}`,
  };
}

const SESSION_COLUMNS = [
  column('Application', ({ applicationName }: UserSession) => isolate(applicationName)),
  wideColumn('Method', ({ method, onBehalfBy }: UserSession) =>
    onBehalfBy === null ? method : html`${method} by ${isolate(onBehalfBy)}`,
  ),
  column('Browser', ({ userAgent }: UserSession) => renderBrowser(userAgent)),
  wideColumn('Address', ({ ipAddress }: UserSession) => html`<code>${isolate(ipAddress || '–')}</code>`),
  wideColumn('Signed in', ({ authTime }: UserSession) => renderMoment(authTime)),
  wideColumn('Ends (UTC)', ({ expiresAt }: UserSession) => renderMoment(expiresAt)),
];

const APPLICATION_COLUMNS = [
  column(
    'Application',
    ({ applicationId, applicationName }: UserApplication) =>
      html`<a href="/applications/${applicationId}">${isolate(applicationName)}</a>`,
  ),
  wideColumn('First sign-in', ({ firstSignedInAt }: UserApplication) => renderDay(firstSignedInAt)),
  column('Last', ({ lastSignedInAt }: UserApplication) => renderDay(lastSignedInAt)),
];
