/** The users of an application, and their live sessions. */

import { SessionService } from '../../../../gen/usher/v1/session_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { listSessions } from '../../../domain/sessions/list-sessions.ts';
import type { ApplicationUser } from '../../../domain/users/application-user.ts';
import { listApplicationUsers } from '../../../domain/users/list-application-users.ts';
import { html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { renderAddress } from '../../../texts/render-address.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import { renderProblem } from '../parts/field.ts';
import { readFilter } from '../parts/filters.ts';
import { renderForm } from '../parts/form.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import { pageFields } from '../parts/pager.ts';
import { renderBrowser } from '../parts/people.ts';
import { actionsColumn, column, wideColumn } from '../parts/table.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

type LiveSession = Awaited<ReturnType<typeof listSessions>>['rows'][number];

/** Few, because Postgres looks up the user and three cut-offs for each session. */
const SESSIONS_A_PAGE = 9;
/** Few, because Postgres looks up the user and the groups for each row. */
const USERS_A_PAGE = 20;

const FILTERS = [
  { name: 'email', label: 'Whole address' },
  { name: 'wallet', label: 'Wallet' },
];

export async function showApplicationUsers(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, parts, query } = request;
  const call = await inApplication(request);
  const given = { email: readFilter(query, 'email'), walletAddress: readFilter(query, 'wallet') };
  const page = await listApplicationUsers(call, parts.pageTokens, { ...given, ...pageFields(query, USERS_A_PAGE) });
  const mayOpen = operator.role !== 'team';
  const columns = [
    column('E-mail address', ({ id, email }: ApplicationUser) =>
      mayOpen ? html`<a href="/users/${id}">${renderAddress(email)}</a>` : renderAddress(email),
    ),
    wideColumn('Name', ({ name }: ApplicationUser) => (name === null ? '–' : isolate(name))),
    column('State', ({ isActive }: ApplicationUser) =>
      isActive ? 'Active' : html`<span class="tag warn">Deactivated</span>`,
    ),
    column('First sign-in', ({ firstSignedInAt }: ApplicationUser) => renderDay(firstSignedInAt)),
  ];
  return renderApplicationList(request, call.application, {
    tab: 'users',
    heading: 'Users',
    page,
    filters: FILTERS,
    columns,
    empty: 'Nobody has signed in yet.',
  });
}

export async function showSessions(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, parts, query } = request;
  const call = await inApplication(request);
  const { application } = call;
  const path = `/applications/${application.id}/sessions`;
  const given = { userId: readFilter(query, 'user') };
  const page = await listSessions(call, parts.pageTokens, { ...given, ...pageFields(query, SESSIONS_A_PAGE) });
  const end = actionsColumn(({ userId, email }: LiveSession) =>
    renderForm(
      `${path}/end`,
      html`<input type="hidden" name="userId" value="${userId}"><button class="quiet">End<span class="hide"> the session of ${isolate(showEmail(email))}</span></button>`,
    ),
  );
  return renderApplicationList(request, application, {
    tab: 'sessions',
    heading: 'Live sessions',
    page,
    filters: [{ name: 'user', label: 'User ID' }],
    columns: includesRole(operator.role, 'support') ? [...SESSION_COLUMNS, end] : SESSION_COLUMNS,
    empty: 'No live session.',
    above: renderProblem(request),
  });
}

const SESSION_COLUMNS = [
  column('User', ({ email }: LiveSession) => renderAddress(email)),
  wideColumn('Method', ({ method }: LiveSession) => method),
  column('Browser', ({ userAgent }: LiveSession) => renderBrowser(userAgent)),
  wideColumn('Address', ({ ipAddress }: LiveSession) => html`<code>${isolate(ipAddress || '–')}</code>`),
  wideColumn('Ends (UTC)', ({ expiresAt }: LiveSession) => renderMoment(expiresAt)),
];

export const endSession = createAction(
  SessionService.method.revokeUserSessions,
  ({ form }) => ({ userId: form.get('userId') ?? '' }),
  ({ params }) => `/applications/${params.a}/sessions?done=ended`,
);
