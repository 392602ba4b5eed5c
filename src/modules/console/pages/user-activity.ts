/** The live sessions of a user, and the audit events on the user. */
import { listAuditEvents } from '../../../domain/audit/list-audit-events.ts';
import { listUserSessions } from '../../../domain/sessions/list-user-sessions.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { renderAuditList } from '../parts/audit-list.ts';
import { column, JOINED_PAGE_SIZE, pageFields, renderPager, renderRows, wideColumn } from '../parts/list.ts';
import { renderMoment } from '../parts/moment.ts';
import { type Names, readNames, renderNameOf } from '../parts/names.ts';
import {
  renderActionButton,
  renderBreadcrumbs,
  renderBrowser,
  renderMethodLabel,
  renderPanel,
} from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

/** The length of each list on the page of the user. A link leads to the whole list. */
const SHORT_LIST = 10;

type UserSession = Awaited<ReturnType<typeof listUserSessions>>['rows'][number];

/** Renders the button for the top of the page, where no row is before it, and the panels. */
export async function renderActivity(
  request: ConsoleRequest,
  userId: string,
): Promise<{ readonly end: Html | false; readonly panels: Html }> {
  const { call, operator, parts } = request;
  const page = { userId, pageSize: SHORT_LIST };
  const [sessions, events] = await Promise.all([
    listUserSessions(call, parts.pageTokens, page),
    listAuditEvents(call, parts.pageTokens, { resource: userId, pageSize: SHORT_LIST }),
  ]);
  const names = await readApplicationNames(call, sessions.rows);
  const mayEnd = includesRole(operator.role, 'support') && sessions.rows.length > 0;
  const path = `/users/${userId}`;
  const log = html`<a class="small" href="/audit?${new URLSearchParams({ resource: userId }).toString()}">In the audit log</a>`;
  const all = sessions.nextPageToken !== '' && html`<a class="small" href="${path}/sessions">All sessions</a>`;
  const end = mayEnd && renderActionButton(`${path}/end-sessions`, 'End all sessions');
  const panels = html`${renderPanel(
    'live',
    'Live sessions',
    renderRows(
      { labelledBy: 'live', columns: sessionColumns(request, names), rows: sessions.rows, empty: NO_SESSION },
      'table',
    ),
    all,
    'panel tight',
  )}
${renderPanel(
  'done',
  'Latest events of this user',
  await renderAuditList(request, events.rows, { level: 3, empty: 'No events in the log.', isOfResource: true }),
  log,
)}`;
  return { end, panels };
}

const NO_SESSION = 'No live session.';

/** Shows the sessions on a page of their own. */
export async function showUserSessions(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, params, parts, query } = request;
  const { id, email } = await getUser(call, { userId: params.u });
  const given = { userId: id, ...pageFields(query, JOINED_PAGE_SIZE) };
  const { rows, nextPageToken } = await listUserSessions(call, parts.pageTokens, given);
  const columns = sessionColumns(request, await readApplicationNames(call, rows));
  return {
    title: `Live sessions of ${email}`,
    section: 'users',
    body: html`${renderBreadcrumbs(['/users', 'Users'], [`/users/${id}`, isolate(email)])}
<h1 id="sessions">Live sessions</h1>
${renderRows({ labelledBy: 'sessions', columns, rows, empty: NO_SESSION })}
${renderPager(`/users/${id}/sessions`, query, nextPageToken)}`,
  };
}

function readApplicationNames(call: ConsoleRequest['call'], rows: readonly UserSession[]): Promise<Names> {
  return readNames(call, { application: rows.map(({ applicationId }) => applicationId) });
}

const sessionColumns = ({ parts }: ConsoleRequest, names: Names) => [
  column(
    'Application',
    ({ applicationId }: UserSession) =>
      html`<a href="/applications/${applicationId}">${renderNameOf(names, applicationId)}</a>`,
  ),
  wideColumn('Method', ({ method, onBehalfBy }: UserSession) => {
    const shown = renderMethodLabel(parts, method);
    return onBehalfBy === null ? shown : html`${shown} (${isolate(onBehalfBy)})`;
  }),
  column('Browser', ({ userAgent }: UserSession) => renderBrowser(userAgent)),
  wideColumn('Address', ({ ipAddress }: UserSession) => html`<code>${isolate(ipAddress || '–')}</code>`),
  wideColumn('Signed in', ({ authTime }: UserSession) => renderMoment(authTime)),
  wideColumn('Ends (UTC)', ({ expiresAt }: UserSession) => renderMoment(expiresAt)),
];
