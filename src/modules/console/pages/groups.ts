/** The list of groups, the page of a group with its members, and the forms that change one. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { getGroup, readGroupVersion } from '../../../domain/groups/get-group.ts';
import type { Group } from '../../../domain/groups/group.ts';
import { listGroupMembers } from '../../../domain/groups/list-group-members.ts';
import { listGroups } from '../../../domain/groups/list-groups.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate, renderAddress } from '../../../texts/isolate.ts';
import { type ConsoleRequest, findUserId, perform } from '../console-request.ts';
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
import {
  actionsColumn,
  column,
  JOINED_PAGE_SIZE,
  pageFields,
  renderPager,
  renderRows,
  wideColumn,
} from '../parts/list.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import {
  renderBreadcrumbs,
  renderDeclared,
  renderId,
  renderLinkButton,
  renderNote,
  renderPanel,
} from '../parts/panel.ts';
import type { ConsolePage, ConsoleRoute } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

export async function showGroups(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, operator, parts, query } = request;
  const { rows, nextPageToken } = await listGroups(call, parts.pageTokens, pageFields(query));
  return {
    title: 'Groups',
    section: 'groups',
    body: html`<h1 id="groups">Groups</h1>
${renderNote(request)}
${renderRows({ labelledBy: 'groups', columns: COLUMNS, rows, empty: 'There are no groups yet.' })}
${renderPager('/groups', query, nextPageToken)}
${includesRole(operator.role, 'admin') && renderNewGroup(request)}`,
  };
}

const COLUMNS = [
  column('Name', ({ groupId, name }: Group) => html`<a href="/groups/${groupId}">${isolate(name)}</a>`),
  column('Display name', ({ displayName }: Group) => (displayName === null ? '–' : isolate(displayName))),
  wideColumn('Created', ({ createdAt }: Group) => renderDay(createdAt)),
];

function renderNewGroup(request: ConsoleRequest): Html {
  const form = renderForm(
    '/groups',
    html`${renderProblem(request, GROUP_FIELDS)}
${renderGroupFields(request)}${renderField(request, { name: 'userId', label: 'First member', offers: 'user', note: 'The e-mail address or ID of a user. You can add others later.' })}
<div class="actions"><button>Create</button></div>`,
    'fields tight body sheet',
  );
  return renderPanel('new', 'Create a group', form);
}

const GROUP_FIELDS = ['name', 'displayName', 'userId'];

/** Renders the fields of a new or an existing group. */
function renderGroupFields(request: Pick<ConsoleRequest, 'problem'>, group?: Group): Html {
  return html`${renderField(request, { name: 'name', label: 'Name', value: group?.name, isRequired: true, maxLength: 63, note: 'The value that applications get, such as editors: a to z, 0 to 9, dots, hyphens and underscores.' })}
${renderField(request, { name: 'displayName', label: 'Display name', value: group?.displayName, note: 'What people see on their account page.' })}`;
}

/** Returns the fields of a group. Empty fields are cleared. */
function readGroup(form: URLSearchParams) {
  return { name: form.get('name')?.trim() ?? '', displayName: textOrNull(form, 'displayName') };
}

/** Finds the first member before it creates the group, so that a wrong address leaves no empty group. */
export const createGroupByForm: ConsoleRoute['run'] = async (request) => {
  const { call, form } = request;
  const typed = textOrNull(form, 'userId');
  const member = typed !== null && (await getUser(call, typed.includes('@') ? { email: typed } : { userId: typed }));
  const { createGroup, addGroupMember } = AdminService.method;
  const { group } = await perform(request, createGroup, readGroup(form));
  const groupId = group?.groupId ?? '';
  if (member) await perform(request, addGroupMember, { groupId, userId: member.id });
  return { redirect: `/groups/${groupId}?done=created` };
};

type Member = Awaited<ReturnType<typeof listGroupMembers>>['rows'][number];

export async function showGroup(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, operator, params, parts, query } = request;
  const isAdmin = includesRole(operator.role, 'admin');
  const version = isAdmin ? await readGroupVersion(call, { groupId: params.g }) : undefined;
  const group = await getGroup(call, { groupId: params.g });
  const mayEdit = isAdmin && !group.declaredByFile;
  const path = `/groups/${group.groupId}`;
  const page = { groupId: group.groupId, ...pageFields(query, JOINED_PAGE_SIZE) };
  const { rows, nextPageToken } = await listGroupMembers(call, parts.pageTokens, page);
  const remove = actionsColumn(({ userId, email }: Member) =>
    renderForm(
      `${path}/members/remove`,
      html`<input type="hidden" name="userId" value="${userId}"><button class="quiet">Remove<span class="hide"> ${isolate(showEmail(email))}</span></button>`,
    ),
  );
  const title = group.displayName ?? group.name;
  return {
    title,
    section: 'groups',
    body: html`${renderBreadcrumbs(['/groups', 'Groups'])}
<div class="bar">
<div><h1>${isolate(title)}</h1><p class="soft small">${isolate(group.name)} · ${renderId(group.groupId)} · created ${renderMoment(group.createdAt)}</p>
${renderDeclared('group', group.declaredByFile)}</div>
${mayEdit && html`<div class="tight">${renderLinkButton(`${path}/delete`, 'Delete…', 'danger')}</div>`}
</div>
${renderNote(request)}
${isAdmin && renderAdd(request, path)}
<h2 id="members">Members</h2>
${renderRows({ labelledBy: 'members', columns: isAdmin ? [...MEMBER_COLUMNS, remove] : MEMBER_COLUMNS, rows, empty: 'Nobody is in the group.' })}
${renderPager(path, query, nextPageToken)}
${mayEdit && renderEdit(request, group, version)}`,
  };
}

const MEMBER_COLUMNS = [
  column('E-mail address', ({ userId, email }: Member) => html`<a href="/users/${userId}">${renderAddress(email)}</a>`),
  wideColumn('Name', ({ name }: Member) => (name === null ? '–' : isolate(name))),
  wideColumn('Added', ({ addedAt }: Member) => renderDay(addedAt)),
];

const isOfMember = ({ form }: ConsoleRequest) => form.has('userId');

function renderAdd(request: ConsoleRequest, path: string): Html {
  const own = isOfMember(request) ? request : withoutProblem(request);
  return renderForm(
    `${path}/members`,
    html`${renderProblem(own, ['userId'])}
${renderField(own, { name: 'userId', label: 'E-mail address or ID of a user', offers: 'user', isRequired: true })}
<button>Add</button>`,
    'find tight',
  );
}

function renderEdit(request: ConsoleRequest, group: Group, version: string | undefined): Html {
  const own = isOfMember(request) ? withoutProblem(request) : request;
  return html`<details class="panel sheet"${own.problem && html` open`}><summary>Edit the group</summary>
${renderForm(
  `/groups/${group.groupId}`,
  html`${renderProblem(own, GROUP_FIELDS)}
${renderVersion(own, version)}${renderGroupFields(own, group)}
<div class="actions"><button>Save</button></div>`,
  'fields tight body',
)}
</details>`;
}

export async function showDeleteGroup(request: ConsoleRequest): Promise<ConsolePage> {
  const { groupId, name } = await getGroup(request.call, { groupId: request.params.g });
  return renderConfirmation(request, {
    title: 'Delete a group',
    section: 'groups',
    text: 'Its members stay users. Where only this group has let them in, their sessions end.',
    name,
    submit: 'Delete',
    back: `/groups/${groupId}`,
  });
}

const { updateGroup, addGroupMember, removeGroupMember, deleteGroup } = AdminService.method;
const readId = ({ params }: ConsoleRequest) => ({ groupId: params.g });
const backWith = (done: string) => (request: ConsoleRequest) => `/groups/${request.params.g}?done=${done}`;

export const GROUP_ACTIONS = {
  update: createAction(
    updateGroup,
    (request) => ({ ...readId(request), ...readGroup(request.form) }),
    backWith('saved'),
  ),
  add: createAction(
    addGroupMember,
    async (request) => ({
      ...readId(request),
      userId: await findUserId(request, request.form.get('userId')?.trim() ?? ''),
    }),
    backWith('added'),
  ),
  remove: createAction(
    removeGroupMember,
    (request) => ({ ...readId(request), userId: request.form.get('userId') ?? '' }),
    backWith('removed'),
  ),
  delete: createAction(
    deleteGroup,
    async (request) => {
      const { groupId, name } = await getGroup(request.call, readId(request));
      requireName(request, name);
      return { groupId };
    },
    () => '/groups?done=deleted',
  ),
};
