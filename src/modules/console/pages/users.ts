/** The list of users, the page of a user, and the forms that create, change and end one. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { invalidField } from '../../../domain/core/errors.ts';
import { MAX_GROUPS_OF_USER } from '../../../domain/groups/group.ts';
import { listUserGroups } from '../../../domain/groups/list-user-groups.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import { listUsers } from '../../../domain/users/list-users.ts';
import { readUserVersion } from '../../../domain/users/update-user.ts';
import type { User } from '../../../domain/users/user.ts';
import { findRepeatedName } from '../../../encoding/json.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate, renderAddress } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import {
  createAction,
  renderConfirmation,
  renderField,
  renderForm,
  renderProblem,
  renderVersion,
  requireName,
  textOrNull,
  withoutProblem,
} from '../parts/form.ts';
import { column, pageFields, readFilter, renderFilters, renderPager, renderRows, wideColumn } from '../parts/list.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import {
  renderActionButton,
  renderBreadcrumbs,
  renderFacts,
  renderId,
  renderLinkButton,
  renderNote,
  renderPanel,
  renderWallet,
} from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { renderUserAttempts } from './attempts.ts';
import { nameShortly } from './recovery.ts';
import { renderAccess } from './user-access.ts';
import { renderActivity } from './user-activity.ts';
import { renderWays } from './user-ways.ts';

export async function showUsers(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, operator, parts, query } = request;
  const email = readFilter(query, 'email');
  const emailPrefix = readFilter(query, 'prefix');
  const walletAddress = readFilter(query, 'wallet');
  const page = pageFields(query);
  const filters = { email, emailPrefix, walletAddress };
  const { rows, nextPageToken } = await listUsers(call, parts.pageTokens, { ...filters, ...page });
  const mayCreate = includesRole(operator.role, 'admin');
  const typed = email ?? emailPrefix ?? '';
  const create = typed.includes('@') ? `/users/new?${new URLSearchParams({ email: typed })}` : '/users/new';
  // Without a filter, there is the operator.
  const empty = html`No user has this address.${mayCreate && html` <a href="${create}">Create one</a>`}`;
  return {
    title: 'Users',
    section: 'users',
    body: html`<div class="bar"><h1 id="users">Users</h1>${
      mayCreate &&
      html`<div class="actions tight"><a class="button second" href="/users/import">Import…</a><a class="button" href="${create}">Create a user</a></div>`
    }</div>
${renderNote(request)}
${renderFilters(query, FILTERS)}
${renderRows({ labelledBy: 'users', columns: COLUMNS, rows, empty })}
${renderPager('/users', query, nextPageToken)}`,
  };
}

const FILTERS = [
  { name: 'prefix', label: 'Address begins with' },
  { name: 'email', label: 'Whole address' },
  { name: 'wallet', label: 'Wallet' },
];

const COLUMNS = [
  column('E-mail address', ({ id, email }: User) => html`<a href="/users/${id}">${renderAddress(email)}</a>`),
  wideColumn('Name', ({ name }: User) => (name === null ? '–' : isolate(name))),
  wideColumn('Wallet', ({ walletAddress }: User) => renderWallet(walletAddress)),
  column('State', renderState),
  wideColumn('Created', ({ createdAt }: User) => renderDay(createdAt)),
];

function renderState({ deactivatedAt }: Pick<User, 'deactivatedAt'>): Html {
  return deactivatedAt ? html`<span class="tag warn">Deactivated</span>` : html`Active`;
}

export async function showNewUser(request: ConsoleRequest): Promise<ConsolePage> {
  const email = request.query.get('email') ?? '';
  return {
    title: 'Create a user',
    section: 'users',
    body: html`${renderBreadcrumbs(['/users', 'Users'])}
<h1>Create a user</h1>
${renderProblem(request, USER_FIELDS)}
${renderForm(
  '/users/new',
  html`${renderUserFields(request, { email, name: null, walletAddress: '', profileImage: null, externalId: null, attributes: null })}
<div class="actions"><button>Create</button><a class="button second" href="/users">Back</a></div>`,
  'fields tight sheet',
)}`,
  };
}

const USER_FIELDS = ['email', 'name', 'walletAddress', 'profileImage', 'externalId', 'attributes'];

function renderUserFields(
  request: ConsoleRequest,
  user: Pick<User, 'email' | 'name' | 'walletAddress' | 'profileImage' | 'externalId' | 'attributes'>,
): Html {
  const attributes = user.attributes === null ? '' : JSON.stringify(user.attributes, undefined, 2);
  return html`${renderField(request, { name: 'email', label: 'E-mail address', value: user.email, isRequired: true, note: 'People sign in with it.' })}
${renderField(request, { name: 'name', label: 'Name', value: user.name })}
${renderField(request, { name: 'walletAddress', label: 'Wallet', value: user.walletAddress })}
${renderField(request, { name: 'profileImage', label: 'Profile image', type: 'url', value: user.profileImage, note: 'An http or https address.' })}
${renderField(request, { name: 'externalId', label: 'External ID', value: user.externalId, note: 'The ID of the user in another system.' })}
${renderField(request, { name: 'attributes', label: 'Attributes', rows: 4, value: attributes, placeholder: '{ "plan": "pro" }', note: 'As JSON. An application sees those that its settings list.' })}`;
}

export const createUserByForm = createAction(
  AdminService.method.createUser,
  ({ form }) => readProfile(form),
  (_, { user }) => `/users/${user?.id}?done=created`,
);

/** Returns the fields of a profile. Empty fields are cleared. */
function readProfile(form: URLSearchParams) {
  return {
    email: form.get('email')?.trim() ?? '',
    name: textOrNull(form, 'name'),
    walletAddress: form.get('walletAddress')?.trim() ?? '',
    profileImage: textOrNull(form, 'profileImage'),
    externalId: textOrNull(form, 'externalId'),
    attributes: readAttributes(textOrNull(form, 'attributes')),
  };
}

function readAttributes(json: string | null): unknown {
  if (json === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw invalidField('attributes', 'must be JSON, such as { "plan": "pro" }');
  }
  if (findRepeatedName(json) !== undefined) throw invalidField('attributes', 'must not have a name twice');
  return value;
}

export async function showUser(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, operator, params, parts } = request;
  const isAdmin = includesRole(operator.role, 'admin');
  const version = isAdmin ? await readUserVersion(call, { userId: params.u }) : undefined;
  const user = await getUser(call, { userId: params.u });
  const [groups, ways, access] = await Promise.all([
    listUserGroups(call, parts.pageTokens, { userId: user.id, pageSize: MAX_GROUPS_OF_USER }),
    renderWays(request, user),
    renderAccess(request, user),
  ]);
  const activity = await renderActivity(request, user.id);
  const path = `/users/${user.id}`;
  const name = user.name ?? showEmail(user.email);
  return {
    title: name,
    section: 'users',
    body: html`${renderBreadcrumbs(['/users', 'Users'])}
<div class="bar">
<div>
<h1>${isolate(name)}</h1>
<p class="soft">${isolate(showEmail(user.email))} ${renderTag(user)}</p>
</div>
<div class="actions tight">${operator.mayRecover && renderLinkButton(`${path}/recovery`, `${nameShortly(user)} has lost …`, '')}${activity.end}${
      includesRole(operator.role, 'support') && renderActions(user, path)
    }</div>
</div>
${renderNote(request)}
${renderProblem(request, [...USER_FIELDS, 'applicationId'])}
${await renderUserAttempts(request, user.id)}
<div class="two even">
${ways}
${access}
</div>
${renderPanel(
  'profile',
  'Profile',
  renderFacts([
    ['User ID', renderId(user.id)],
    ['E-mail', isolate(showEmail(user.email))],
    ['Name', user.name !== null && isolate(user.name)],
    ['Profile image', user.profileImage !== null && isolate(user.profileImage)],
    ['External ID', user.externalId !== null && isolate(user.externalId)],
    ['Attributes', user.attributes !== null && isolate(JSON.stringify(user.attributes))],
    ['Groups', groups.rows.length > 0 && html`${groups.rows.map(renderGroup)}`],
    ['Created', renderMoment(user.createdAt)],
    ['Deactivated', user.deactivatedAt !== null && renderMoment(user.deactivatedAt)],
  ]),
)}
${isAdmin && renderEdit(request.context.path === path ? request : withoutProblem(request), user, path, version)}
${activity.panels}
${isAdmin && renderEnd(path)}`,
  };
}

function renderTag({ deactivatedAt }: User): Html {
  return deactivatedAt ? html`<span class="tag warn">Deactivated</span>` : html`<span class="tag">Active</span>`;
}

function renderActions(user: User, path: string): Html {
  return user.deactivatedAt
    ? renderActionButton(`${path}/reactivate`, 'Reactivate', 'second', isolate(showEmail(user.email)))
    : renderLinkButton(`${path}/deactivate`, 'Deactivate…', 'danger');
}

function renderGroup({ groupId, name }: Awaited<ReturnType<typeof listUserGroups>>['rows'][number]): Html {
  return html`<a href="/groups/${groupId}">${isolate(name)}</a><br>`;
}

function renderEdit(request: ConsoleRequest, user: User, path: string, version: string | undefined): Html {
  return html`<details class="panel sheet"${request.problem && html` open`}><summary>Edit the profile</summary>
${renderForm(
  path,
  html`${renderVersion(request, version)}${renderUserFields(request, user)}
<div class="actions"><button>Save</button></div>`,
  'fields tight body',
)}
</details>`;
}

function renderEnd(path: string): Html {
  return renderPanel(
    'end',
    'Delete or erase',
    html`<div class="item"><div><strong>Delete</strong><p>Ends every sign-in. The address becomes free. The audit log keeps the ID.</p></div>${renderLinkButton(`${path}/delete`, 'Delete…', 'danger')}</div>
<div class="item"><div><strong>Erase</strong><p>Deletes the user, and also removes name, address and wallet from stored messages.</p></div>${renderLinkButton(`${path}/erase`, 'Erase…', 'danger')}</div>`,
    false,
    'panel tight',
  );
}

const { updateUser, deactivateUser, reactivateUser, endUserSessions } = AdminService.method;
const readId = ({ params }: ConsoleRequest) => ({ userId: params.u });
const backWith = (done: string) => (request: ConsoleRequest) => `/users/${request.params.u}?done=${done}`;

export const USER_ACTIONS = {
  update: createAction(
    updateUser,
    (request) => ({ ...readId(request), ...readProfile(request.form) }),
    backWith('saved'),
  ),
  deactivate: createAction(deactivateUser, readId, backWith('deactivated')),
  endSessions: createAction(endUserSessions, readId, backWith('ended')),
  reactivate: createAction(reactivateUser, readId, backWith('reactivated')),
};

/** Asks without a name to type: "Reactivate" makes it good again. */
export async function showDeactivate(request: ConsoleRequest): Promise<ConsolePage> {
  const { id, email } = await getUser(request.call, { userId: request.params.u });
  return renderConfirmation(request, {
    title: `Deactivate ${email}`,
    heading: html`Deactivate ${isolate(showEmail(email))}`,
    section: 'users',
    text: 'Every session ends, and nobody can sign in as this user until somebody reactivates the account.',
    name: false,
    submit: 'Deactivate',
    back: `/users/${id}`,
  });
}

const DELETE = {
  title: 'Delete a user',
  text: 'Every session ends, in every application. Nobody can sign in as this user again, and the address becomes free.',
  submit: 'Delete',
};
const ERASE = {
  title: 'Erase a user',
  text: 'Deletes the user, and permanently removes name, address and wallet, also from stored messages.',
  submit: 'Erase',
};

export const showDeleteUser = (request: ConsoleRequest) => show(request, DELETE);
export const showEraseUser = (request: ConsoleRequest) => show(request, ERASE);

async function show(request: ConsoleRequest, question: typeof DELETE): Promise<ConsolePage> {
  const { id, email } = await getUser(request.call, { userId: request.params.u });
  return renderConfirmation(request, { ...question, section: 'users', name: showEmail(email), back: `/users/${id}` });
}

const { deleteUser, eraseUser } = AdminService.method;

export const END_USER_ACTIONS = {
  delete: createAction(deleteUser, readOther, () => '/users?done=deleted'),
  erase: createAction(eraseUser, readOther, () => '/users?done=erased'),
};

/** Refuses the operator's own account, so that the last operator is not locked out by mistake. */
async function readOther(request: ConsoleRequest): Promise<{ userId: string }> {
  const { call, operator, params } = request;
  const { id, email } = await getUser(call, { userId: params.u });
  requireName(request, showEmail(email));
  if (id === operator.userId) throw invalidField('name', 'must not be your own');
  return { userId: id };
}
