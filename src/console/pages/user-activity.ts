/** Where a user is signed in and has signed in, and what was done to the user. */
import { listAuditEvents } from '../../domain/audit/list-audit-events.ts';
import { listUserSessions } from '../../domain/sessions/list-user-sessions.ts';
import { listUserApplications } from '../../domain/users/list-user-applications.ts';
import { type Html, html } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import { renderAct, renderPanel } from '../parts/panel.ts';
import { renderBrowser } from '../parts/people.ts';
import { column, renderRows, wideColumn } from '../parts/table.ts';
import { includesRole } from '../signed-in-operator.ts';
import { ACT_COLUMNS, renderLogNote } from './audit.ts';

/** Each of the lists is short on this page. */
const MOST = 20;

type UserSession = Awaited<ReturnType<typeof listUserSessions>>['rows'][number];
type UserApplication = Awaited<ReturnType<typeof listUserApplications>>['rows'][number];

export async function renderActivity(request: ConsoleRequest, userId: string): Promise<Html> {
  const { call, operator, parts } = request;
  const page = { userId, pageSize: MOST };
  const [sessions, applications, acts] = await Promise.all([
    listUserSessions(call, parts.pageTokens, page),
    listUserApplications(call, parts.pageTokens, page),
    listAuditEvents(call, parts.pageTokens, { resource: userId, pageSize: MOST }),
  ]);
  const mayEnd = includesRole(operator.role, 'support') && sessions.rows.length > 0;
  const log = html`<a class="small" href="/audit?${new URLSearchParams({ resource: userId }).toString()}">In the audit log</a>`;
  return html`${renderPanel(
    'live',
    'Live sessions',
    renderRows(
      { labelledBy: 'live', columns: SESSION_COLUMNS, rows: sessions.rows, empty: 'No live session.' },
      'table',
    ),
    mayEnd && renderAct(`/users/${userId}/end-sessions`, 'End all sessions', 'danger'),
    'panel tight',
  )}
${renderPanel(
  'where',
  'Applications',
  renderRows(
    { labelledBy: 'where', columns: APPLICATION_COLUMNS, rows: applications.rows, empty: 'Has never signed in.' },
    'table',
  ),
)}
${renderPanel(
  'done',
  'Acts on this user',
  html`${renderLogNote(parts)}${renderRows({ labelledBy: 'done', columns: ACT_COLUMNS, rows: acts.rows, empty: 'No act in the log.' }, 'table')}`,
  log,
)}`;
}

const SESSION_COLUMNS = [
  column('Application', ({ applicationName }: UserSession) => isolate(applicationName)),
  wideColumn('Method', ({ method }: UserSession) => method),
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
