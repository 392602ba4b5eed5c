/** What groups mean to an application: whether their members may sign in, and whether it sees the group. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { invalidField } from '../../../domain/core/errors.ts';
import { getGroupByName } from '../../../domain/groups/get-group.ts';
import { type ApplicationGroup, listApplicationGroups } from '../../../domain/groups/list-application-groups.ts';
import { changeGroupAccess } from '../../../domain/groups/set-group-access.ts';
import { html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, createOperatorCall, inApplication } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import { renderCheck, renderField } from '../parts/field.ts';
import { renderForm } from '../parts/form.ts';
import { column, wideColumn } from '../parts/table.ts';
import type { ConsolePage, ConsoleRoute } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

type Meaning = 'allowsAccess' | 'inClaim';

export async function showApplicationGroups(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator } = request;
  const call = await inApplication(request);
  const { application } = call;
  const rows = await listApplicationGroups(call, { applicationId: application.id });
  const isAdmin = includesRole(operator.role, 'admin');
  const mayOpen = operator.role !== 'team';
  const switched = (title: string, meaning: Meaning, on: string, off: string) =>
    column(title, ({ groupId, name, [meaning]: isOn }: ApplicationGroup) => {
      const state = isOn ? 'Yes' : 'No';
      if (!isAdmin) return state;
      return renderForm(
        `/applications/${application.id}/groups/change`,
        html`<input type="hidden" name="groupId" value="${groupId}"><input type="hidden" name="${meaning}" value="${String(!isOn)}">${state} <button class="quiet">${isOn ? off : on}<span class="hide">: ${isolate(name)}</span></button>`,
      );
    });
  const columns = [
    column('Group', ({ groupId, name }: ApplicationGroup) =>
      mayOpen ? html`<a href="/groups/${groupId}">${isolate(name)}</a>` : isolate(name),
    ),
    wideColumn('Display name', ({ displayName }: ApplicationGroup) =>
      displayName === null ? '–' : isolate(displayName),
    ),
    switched('Access', 'allowsAccess', 'Let in', 'Shut out'),
    switched('In claim', 'inClaim', 'Show', 'Hide'),
  ];
  const fields = html`${renderField(request, { name: 'group', label: 'Name of the group', isRequired: true, note: html`One of the <a href="/groups">groups</a>.` })}
<fieldset class="check field"><legend>What it means here</legend>
${renderCheck(request, { name: 'allowsAccess', label: 'Members may sign in', isChecked: true })}${renderCheck(request, { name: 'inClaim', label: 'The application sees the group: in the claim groups, and in its API', isChecked: true })}</fieldset>`;
  return renderApplicationList(request, application, {
    tab: 'groups',
    heading: 'Groups',
    page: { rows, nextPageToken: '' },
    columns,
    empty: 'No group means anything to this application.',
    above:
      !application.restrictAccess &&
      html`<p class="alert note">Everybody may sign in, in a group or not: the <a href="/applications/${application.id}">settings</a> do not restrict access.</p>`,
    form: isAdmin && { title: 'Add a group', submit: 'Add', shown: ['group'], fields },
  });
}

const { setGroupAccess } = AdminService.method;

export const addApplicationGroup = createAction(
  setGroupAccess,
  async (request) => {
    const { application, run } = await inApplication(request);
    const { form } = request;
    const meaning = { allowsAccess: form.has('allowsAccess'), inClaim: form.has('inClaim') };
    if (!meaning.allowsAccess && !meaning.inClaim) throw invalidField('group', 'needs at least one of the two below');
    const { groupId } = await getGroupByName({ run }, form.get('group')?.trim() ?? '');
    return { applicationId: application.id, groupId, ...meaning };
  },
  ({ params }) => `/applications/${params.a}/groups?done=added`,
);

/** Changes one of the two, and keeps the other as it is now, which may differ from what the page has shown. */
export const changeApplicationGroup: ConsoleRoute['run'] = async (request) => {
  const { context, form, operator, params, parts } = request;
  const { application } = await inApplication(request);
  const call = createOperatorCall(context, parts, operator.userId, 'AdminService/SetGroupAccess');
  const read = (meaning: Meaning) => (form.has(meaning) ? form.get(meaning) === 'true' : undefined);
  const userIds = await changeGroupAccess(call, {
    applicationId: application.id,
    groupId: form.get('groupId') ?? '',
    allowsAccess: read('allowsAccess'),
    inClaim: read('inClaim'),
  });
  for (const userId of userIds) parts.liveSessions.forgetUser(userId);
  return { redirect: `/applications/${params.a}/groups?done=saved` };
};
