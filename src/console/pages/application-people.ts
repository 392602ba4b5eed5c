/** The users of an application, and their live sessions. */
import { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { listSessions } from '../../domain/sessions/list-sessions.ts';
import type { ApplicationUser } from '../../domain/users/application-user.ts';
import { listApplicationUsers } from '../../domain/users/list-application-users.ts';
import { html } from '../../http/html.ts';
import { describeBrowser } from '../../login-page/account/describe-browser.ts';
import { isolate } from '../../texts/isolate.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { createAct } from '../parts/act.ts';
import { renderApplicationHeader } from '../parts/application-header.ts';
import { renderProblem } from '../parts/field.ts';
import { readFilter, renderFilters } from '../parts/filters.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import { pageFields, renderPager } from '../parts/pager.ts';
import { renderNote } from '../parts/panel.ts';
import { renderAddress } from '../parts/people.ts';
import { renderRows } from '../parts/table.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

type LiveSession = Awaited<ReturnType<typeof listSessions>>['rows'][number];

const FILTERS = [
  { name: 'email', label: 'Whole address' },
  { name: 'wallet', label: 'Wallet' },
];

export async function showApplicationUsers(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, parts, query } = request;
  const call = await inApplication(request);
  const { application } = call;
  const filters = { email: readFilter(query, 'email'), walletAddress: readFilter(query, 'wallet') };
  const { rows, nextPageToken } = await listApplicationUsers(call, parts.pageTokens, {
    ...filters,
    ...pageFields(query),
  });
  const mayOpen = operator.role !== 'team';
  const columns = [
    {
      title: 'E-mail address',
      cell: ({ id, email }: ApplicationUser) =>
        mayOpen ? html`<a href="/users/${id}">${renderAddress(email)}</a>` : renderAddress(email),
    },
    { title: 'Name', isWide: true, cell: ({ name }: ApplicationUser) => (name === null ? '–' : isolate(name)) },
    {
      title: 'State',
      cell: ({ isActive }: ApplicationUser) => (isActive ? 'Active' : html`<span class="tag warn">Deactivated</span>`),
    },
    { title: 'First sign-in', cell: ({ firstSignedInAt }: ApplicationUser) => renderDay(firstSignedInAt) },
  ];
  return {
    title: `Users of ${application.name}`,
    section: 'applications',
    body: html`${renderApplicationHeader(application, 'users')}
<h2 id="users">Users</h2>
${renderFilters(query, FILTERS)}
${renderRows({ labelledBy: 'users', columns, rows, empty: 'Nobody has signed in yet.' })}
${renderPager(`/applications/${application.id}/users`, query, nextPageToken)}`,
  };
}

export async function showSessions(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, parts, query } = request;
  const call = await inApplication(request);
  const { application } = call;
  const path = `/applications/${application.id}/sessions`;
  const filters = { userId: readFilter(query, 'user') };
  const { rows, nextPageToken } = await listSessions(call, parts.pageTokens, { ...filters, ...pageFields(query) });
  const end = {
    title: 'Acts',
    isUntitled: true,
    cell: ({ userId, email }: LiveSession) =>
      html`<form method="post" action="${path}/end"><input type="hidden" name="userId" value="${userId}"><button class="quiet">End<span class="hide"> the session of ${isolate(email)}</span></button></form>`,
  };
  const columns = [...SESSION_COLUMNS, ...(includesRole(operator.role, 'support') ? [end] : [])];
  return {
    title: `Sessions of ${application.name}`,
    section: 'applications',
    body: html`${renderApplicationHeader(application, 'sessions')}
${renderNote(request)}
${renderProblem(request)}
<h2 id="sessions">Live sessions</h2>
${renderFilters(query, [{ name: 'user', label: 'User ID' }])}
${renderRows({ labelledBy: 'sessions', columns, rows, empty: 'No live session.' })}
${renderPager(path, query, nextPageToken)}`,
  };
}

const SESSION_COLUMNS = [
  { title: 'User', cell: ({ email }: LiveSession) => renderAddress(email) },
  { title: 'Method', isWide: true, cell: ({ method }: LiveSession) => method },
  {
    title: 'Browser',
    cell: ({ userAgent }: LiveSession) =>
      html`<span title="${userAgent}">${isolate(describeBrowser(userAgent) || '–')}</span>`,
  },
  {
    title: 'Address',
    isWide: true,
    cell: ({ ipAddress }: LiveSession) => html`<code>${isolate(ipAddress || '–')}</code>`,
  },
  { title: 'Ends (UTC)', isWide: true, cell: ({ expiresAt }: LiveSession) => renderMoment(expiresAt) },
];

export const endSession = createAct(
  SessionService.method.revokeUserSessions,
  ({ form }) => ({ userId: form.get('userId') ?? '' }),
  ({ params }) => `/applications/${params.a}/sessions?done=ended`,
);
