/** The list of users, and the form that creates one. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { invalidField } from '../../../domain/core/errors.ts';
import { listUsers } from '../../../domain/users/list-users.ts';
import type { User } from '../../../domain/users/user.ts';
import { findRepeatedName } from '../../../encoding/json.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { renderAddress } from '../../../texts/render-address.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderField, renderProblem, textOrNull } from '../parts/field.ts';
import { readFilter, renderFilters } from '../parts/filters.ts';
import { renderForm } from '../parts/form.ts';
import { renderDay } from '../parts/moment.ts';
import { pageFields, renderPager } from '../parts/pager.ts';
import { renderBreadcrumbs, renderNote } from '../parts/panel.ts';
import { renderWallet } from '../parts/people.ts';
import { column, renderRows, wideColumn } from '../parts/table.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

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
  const isFiltered = Object.values(filters).some((filter) => filter !== undefined);
  const empty = html`${isFiltered ? 'No user has this address.' : 'There are no users yet.'}${
    mayCreate && html` <a href="${create}">Create one</a>`
  }`;
  return {
    title: 'Users',
    section: 'users',
    body: html`<div class="bar"><h1 id="users">Users</h1>${
      mayCreate && html`<a class="button tight" href="${create}">Create a user</a>`
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

export const USER_FIELDS = ['email', 'name', 'walletAddress', 'profileImage', 'externalId', 'attributes'];

export function renderUserFields(
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
export function readProfile(form: URLSearchParams) {
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
