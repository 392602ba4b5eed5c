/** The users of an application: those who were let in by name, those who have signed in, and the forms that change it. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { listApplicationGroups } from '../../../domain/groups/list-application-groups.ts';
import type { ApplicationUser } from '../../../domain/users/application-user.ts';
import { listApplicationUsers } from '../../../domain/users/list-application-users.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate, renderAddress } from '../../../texts/isolate.ts';
import { type ConsoleRequest, findUserId, inApplication } from '../console-request.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import { createAction, renderField, renderForm, renderProblem } from '../parts/form.ts';
import { actionsColumn, column, pageFields, readFilter, wideColumn } from '../parts/list.ts';
import { renderDay } from '../parts/moment.ts';
import { renderPanel } from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { type AddedUser, listAddedUsers } from '../statements/added-users.ts';
import { renderApplicationAttempts } from './attempts.ts';

/** Few, because Postgres looks up the user and the groups for each row. */
const USERS_A_PAGE = 20;

const FILTERS = [
  { name: 'email', label: 'Whole address' },
  { name: 'wallet', label: 'Wallet' },
];

/** The parameter that asks for everybody who has signed in to a restricted application. */
const EVERYBODY = 'everybody';

type InApplication = Awaited<ReturnType<typeof inApplication>>;
type Person = Pick<AddedUser, 'id' | 'email' | 'name'>;

/** Shows who was let in to a restricted application by name. Of others, and if asked, everybody who has signed in. */
export async function showApplicationUsers(request: ConsoleRequest): Promise<ConsolePage> {
  const call = await inApplication(request);
  const isByName = call.application.restrictAccess && !request.query.has(EVERYBODY);
  return isByName ? showAdded(request, call) : showEverybody(request, call);
}

async function showAdded(request: ConsoleRequest, call: InApplication): Promise<ConsolePage> {
  const { operator, parts, query } = request;
  const { application } = call;
  const path = `/applications/${application.id}/users`;
  const [page, groups] = await Promise.all([
    listAddedUsers(call, parts.pageTokens, pageFields(query, USERS_A_PAGE)),
    listApplicationGroups(call, { applicationId: application.id }),
  ]);
  const letting = groups.filter(({ allowsAccess }) => allowsAccess);
  const isAdmin = includesRole(operator.role, 'admin');
  const columns = [
    personColumn(operator.role !== 'team'),
    column('Let in', ({ isInvited, addedAt }: AddedUser) =>
      isInvited ? html`Invited ${renderDay(addedAt)}` : renderDay(addedAt),
    ),
    wideColumn('Last sign-in', ({ lastSignedInAt }: AddedUser) =>
      lastSignedInAt ? renderDay(lastSignedInAt) : 'Never',
    ),
  ];
  return renderApplicationList(request, application, {
    tab: 'users',
    heading: 'People let in by name',
    page,
    columns: isAdmin ? [...columns, removeColumn(path)] : columns,
    empty: 'Nobody was let in by name.',
    below: await renderApplicationAttempts(request, application.id),
    above: html`<p>Only people who are let in may sign in${
      letting.length > 0 &&
      html`, and the members of ${letting.map(
        ({ groupId, name }, index) =>
          html`${index > 0 && ', '}${operator.role === 'team' ? isolate(name) : html`<a href="/groups/${groupId}">${isolate(name)}</a>`}`,
      )}`
    }. <a href="${path}?${EVERYBODY}">Everybody who has signed in</a></p>
${isAdmin && renderLetIn(request, application.id)}`,
  });
}

async function showEverybody(request: ConsoleRequest, call: InApplication): Promise<ConsolePage> {
  const { operator, parts, query } = request;
  const { application } = call;
  const given = { email: readFilter(query, 'email'), walletAddress: readFilter(query, 'wallet') };
  const page = await listApplicationUsers(call, parts.pageTokens, { ...given, ...pageFields(query, USERS_A_PAGE) });
  const columns = [
    personColumn(operator.role !== 'team'),
    column('State', ({ isActive }: ApplicationUser) =>
      isActive ? 'Active' : html`<span class="tag warn">Deactivated</span>`,
    ),
    column('First sign-in', ({ firstSignedInAt }: ApplicationUser) => renderDay(firstSignedInAt)),
  ];
  const path = `/applications/${application.id}/users`;
  return renderApplicationList(request, application, {
    tab: 'users',
    heading: application.restrictAccess ? 'Everybody who has signed in' : 'Users',
    page,
    filters: application.restrictAccess ? [] : FILTERS,
    columns: includesRole(operator.role, 'admin') ? [...columns, removeColumn(path)] : columns,
    empty: 'Nobody has signed in yet.',
    below: await renderApplicationAttempts(request, application.id),
    above: application.restrictAccess && html`<p><a href="${path}">People let in by name</a></p>`,
  });
}

function personColumn(mayOpen: boolean) {
  return column('Person', ({ id, email, name }: Person) => {
    const address = renderAddress(email);
    const shown = name === null ? address : isolate(name);
    return html`${mayOpen ? html`<a href="/users/${id}">${shown}</a>` : shown}${
      name !== null && html`<br><span class="soft">${address}</span>`
    }`;
  });
}

function removeColumn(path: string) {
  return actionsColumn(({ id, email, name }: Person) =>
    renderForm(
      `${path}/remove`,
      html`<input type="hidden" name="userId" value="${id}"><button class="quiet">Remove<span class="hide"> ${isolate(name ?? showEmail(email))}</span></button>`,
    ),
  );
}

function renderLetIn(request: ConsoleRequest, applicationId: string): Html {
  const typed = request.problem?.form.get('userId')?.trim() ?? '';
  const path = `/applications/${applicationId}/invitations${typed.includes('@') ? `?${new URLSearchParams({ email: typed })}` : ''}`;
  return renderPanel(
    'let-in',
    'Let somebody in',
    renderForm(
      `/applications/${applicationId}/users`,
      html`${renderProblem(request, ['userId'])}
${renderField(request, { name: 'userId', label: 'E-mail address or ID of a user', offers: 'user', isRequired: true, note: html`Somebody who has no account yet gets an <a href="${path}">invitation</a>.` })}
<div class="actions"><button>Let in</button></div>`,
      'fields tight body sheet',
    ),
  );
}

const { addApplicationUser, removeApplicationUser } = AdminService.method;
const backWith = (done: string) => (request: ConsoleRequest) => `/applications/${request.params.a}/users?done=${done}`;

export const APPLICATION_USER_ACTIONS = {
  letIn: createAction(
    addApplicationUser,
    async (request) => ({
      applicationId: request.params.a,
      userId: await findUserId(request, request.form.get('userId')?.trim() ?? ''),
    }),
    backWith('let-in'),
  ),
  remove: createAction(
    removeApplicationUser,
    ({ form, params }) => ({ applicationId: params.a, userId: form.get('userId') ?? '' }),
    backWith('let-out'),
  ),
};
