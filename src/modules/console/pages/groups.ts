/** The list of groups, and the form that creates one. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import type { Group } from '../../../domain/groups/group.ts';
import { listGroups } from '../../../domain/groups/list-groups.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderField, renderProblem, textOrNull } from '../parts/field.ts';
import { renderForm } from '../parts/form.ts';
import { renderDay } from '../parts/moment.ts';
import { pageFields, renderPager } from '../parts/pager.ts';
import { renderNote, renderPanel } from '../parts/panel.ts';
import { column, renderRows, wideColumn } from '../parts/table.ts';
import type { ConsolePage } from '../route.ts';
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
${renderGroupFields(request)}
<div class="actions"><button>Create</button></div>`,
    'fields tight body sheet',
  );
  return renderPanel('new', 'Create a group', form);
}

export const GROUP_FIELDS = ['name', 'displayName'];

/** Renders the fields of a new or an existing group. */
export function renderGroupFields(request: Pick<ConsoleRequest, 'problem'>, group?: Group): Html {
  return html`${renderField(request, { name: 'name', label: 'Name', value: group?.name, isRequired: true, maxLength: 63, note: 'The value that applications get, such as editors: a to z, 0 to 9, dots, hyphens and underscores.' })}
${renderField(request, { name: 'displayName', label: 'Display name', value: group?.displayName, note: 'What people see on their account page.' })}`;
}

/** Returns the fields of a group. Empty fields are cleared. */
export function readGroup(form: URLSearchParams) {
  return { name: form.get('name')?.trim() ?? '', displayName: textOrNull(form, 'displayName') };
}

export const createGroupByForm = createAction(
  AdminService.method.createGroup,
  ({ form }) => readGroup(form),
  (_, { group }) => `/groups/${group?.groupId}?done=created`,
);
