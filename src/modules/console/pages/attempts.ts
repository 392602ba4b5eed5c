/** Sign-ins that failed or were refused: of a user, at an application, and all. */

import { OWN_APPLICATION_IDS } from '../../../domain/core/own-applications.ts';
import { listSignInAttempts, type SignInAttempt } from '../../../domain/login/list-sign-in-attempts.ts';
import type { Page } from '../../../domain/pages/list.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { describeAttempt } from '../parts/attempt-texts.ts';
import {
  type Column,
  column,
  JOINED_PAGE_SIZE,
  pageFields,
  renderPager,
  renderRows,
  wideColumn,
} from '../parts/list.ts';
import { renderMoment } from '../parts/moment.ts';
import { readNames, renderNameOf } from '../parts/names.ts';
import { renderBreadcrumbs, renderBrowser, renderId, renderPanel } from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';

/** The length of the list on the page of a user or an application. A link leads to the whole list. */
const SHORT_LIST = 5;

type Names = Awaited<ReturnType<typeof readNames>>;

interface Listed {
  readonly userId?: string;
  readonly applicationId?: string;
}

export async function renderUserAttempts(request: ConsoleRequest, userId: string): Promise<Html> {
  return renderShortList(request, { userId }, `/users/${userId}/attempts`);
}

export async function renderApplicationAttempts(request: ConsoleRequest, applicationId: string): Promise<Html> {
  return renderShortList(request, { applicationId }, `/applications/${applicationId}/attempts`);
}

async function renderShortList(request: ConsoleRequest, of: Listed, path: string): Promise<Html> {
  const { call, parts } = request;
  const page = await listSignInAttempts(call, parts.pageTokens, { ...of, pageSize: SHORT_LIST });
  return renderPanel(
    'tries',
    'Last attempts',
    html`<p class="body small soft">${describeKept(request)}</p>
${await renderAttempts(request, page, of, 'tries', 'table')}`,
    page.nextPageToken !== '' && html`<a class="small" href="${path}">All attempts</a>`,
  );
}

function describeKept({ parts }: ConsoleRequest): string {
  return `Sign-ins that failed or were refused. Kept for ${String(parts.config.signInLogDays)} days.`;
}

export async function showUserAttempts(request: ConsoleRequest): Promise<ConsolePage> {
  const { id, email } = await getUser(request.call, { userId: request.params.u });
  return showAll(request, { userId: id }, `/users/${id}/attempts`, {
    title: `Attempts of ${email}`,
    section: 'users',
    above: renderBreadcrumbs(['/users', 'Users'], [`/users/${id}`, isolate(email)]),
  });
}

export async function showApplicationAttempts(request: ConsoleRequest): Promise<ConsolePage> {
  const { application } = await inApplication(request);
  const path = `/applications/${application.id}`;
  return showAll(request, { applicationId: application.id }, `${path}/attempts`, {
    title: `Attempts at ${application.name}`,
    section: 'applications',
    above: renderBreadcrumbs(['/applications', 'Applications'], [path, isolate(application.name)]),
  });
}

export async function showAttempts(request: ConsoleRequest): Promise<ConsolePage> {
  return showAll(request, {}, '/attempts', { title: 'Attempts', section: 'overview', above: html`` });
}

interface Heading extends Pick<ConsolePage, 'title'> {
  readonly section: NonNullable<ConsolePage['section']>;
  readonly above: Html;
}

async function showAll(
  request: ConsoleRequest,
  of: Listed,
  path: string,
  { title, section, above }: Heading,
): Promise<ConsolePage> {
  const { call, parts, query } = request;
  const page = await listSignInAttempts(call, parts.pageTokens, { ...of, ...pageFields(query, JOINED_PAGE_SIZE) });
  return {
    title,
    section,
    body: html`${above}
<h1 id="attempts">Attempts to sign in</h1>
<p class="soft">${describeKept(request)}${of.userId === undefined && ' The name of a person stands only where the sign-in has proved something about them.'}</p>
${await renderAttempts(request, page, of, 'attempts')}
${renderPager(path, query, page.nextPageToken)}`,
  };
}

/** Renders the rows. One statement reads the names of all. */
async function renderAttempts(
  request: ConsoleRequest,
  { rows }: Page<SignInAttempt>,
  of: Listed,
  labelledBy: string,
  className?: string,
): Promise<Html> {
  const { call, operator, parts } = request;
  const names =
    rows.length > 0
      ? await readNames(call, {
          user: of.userId === undefined ? rows.flatMap(({ userId }) => userId ?? []) : [],
          application: rows.map(({ applicationId }) => applicationId),
        })
      : new Map();
  const mayOpen = operator.role !== 'team';
  const columns = [
    column('When (UTC)', ({ occurredAt }: SignInAttempt) => renderMoment(occurredAt)),
    ...(of.userId === undefined ? [column('Person', (row: SignInAttempt) => renderPerson(row, names, mayOpen))] : []),
    ...(of.applicationId === undefined
      ? [column('Application', ({ applicationId }: SignInAttempt) => renderApplication(applicationId, names))]
      : []),
    column('What happened', (row: SignInAttempt) => renderWhat(row, names, parts.providers)),
    ...ORIGIN_COLUMNS,
  ];
  return renderRows({ labelledBy, columns, rows, empty: 'None.' }, className);
}

function renderPerson({ userId }: SignInAttempt, names: Names, mayOpen: boolean): Html {
  if (userId === null) return html`<span class="soft">Not known</span>`;
  const name = renderNameOf(names, userId);
  return mayOpen && names.has(userId) ? html`<a href="/users/${userId}">${name}</a>` : name;
}

function renderApplication(id: string, names: Names): Html {
  const name = renderApplicationName(id, names);
  return OWN_APPLICATION_IDS.includes(id) ? name : html`<a href="/applications/${id}">${name}</a>`;
}

function renderApplicationName(id: string, names: Names): Html {
  return OWN_APPLICATION_IDS.includes(id) ? html`Usher` : renderNameOf(names, id);
}

function renderWhat(row: SignInAttempt, names: Names, providers: ConsoleRequest['parts']['providers']): Html {
  const provider = row.method === null ? '' : providers.nameOf(row.method);
  const { what, why } = describeAttempt(row, {
    application: renderApplicationName(row.applicationId, names),
    provider: provider === '' ? undefined : isolate(provider),
  });
  return html`<strong>${row.count > 1 && `${String(row.count)} × `}${what}</strong><br><span class="soft">${why}</span>`;
}

const ORIGIN_COLUMNS: readonly Column<SignInAttempt>[] = [
  wideColumn('Browser and network', ({ userAgent, network }: SignInAttempt) => {
    return html`${renderBrowser(userAgent ?? '')}${network !== null && html`<br><span class="soft">${isolate(network)}</span>`}`;
  }),
  wideColumn('Request', ({ requestId }: SignInAttempt) => renderId(requestId)),
];
