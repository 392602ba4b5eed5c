/** The invitations of an application. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { UserService } from '../../../../gen/usher/v1/user_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { getGroupByName } from '../../../domain/groups/get-group.ts';
import type { InvitationRow } from '../../../domain/invitations/invitation.ts';
import { listInvitations } from '../../../domain/invitations/list-invitations.ts';
import { html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { renderAddress } from '../../../texts/render-address.ts';
import { LANGUAGES } from '../../../texts/texts.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import { renderField, renderSelect, textOrNull } from '../parts/field.ts';
import { renderForm } from '../parts/form.ts';
import { renderDay } from '../parts/moment.ts';
import { pageFields } from '../parts/pager.ts';
import { actionsColumn, column, wideColumn } from '../parts/table.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

export async function showInvitations(request: ConsoleRequest): Promise<ConsolePage> {
  const { form: typed, operator, parts, query } = request;
  const call = await inApplication(request);
  const { application } = call;
  const path = `/applications/${application.id}/invitations`;
  const page = await listInvitations(call, parts.pageTokens, pageFields(query));
  const mayInvite = includesRole(operator.role, 'admin');
  const revoke = actionsColumn(({ id, email }: InvitationRow) =>
    renderForm(
      `${path}/revoke`,
      html`<input type="hidden" name="invitationId" value="${id}"><button class="quiet">Revoke<span class="hide"> the invitation of ${isolate(showEmail(email))}</span></button>`,
    ),
  );
  const languages = [...LANGUAGES.values()].map(({ tag, name }) => [tag, name] as const);
  const note = application.initiateLoginUri
    ? 'Gets an e-mail that leads to where a new sign-in starts.'
    : 'Gets an e-mail without a link: the settings do not say where a new sign-in starts.';
  const fields = html`${renderField(request, { name: 'email', label: 'E-mail address', isRequired: true, note })}
${renderField(request, { name: 'name', label: 'Name', note: 'For somebody whom Usher does not know yet.' })}
${renderField(request, { name: 'group', label: 'Groups', rows: 2, note: html`One name per line, of the <a href="/groups">groups</a> that the person joins at the first sign-in.` })}
${renderSelect('locale', 'Language of the e-mail', languages, typed.get('locale') ?? 'en')}
${renderField(request, { name: 'expiresInDays', label: 'Open for so many days', type: 'number', placeholder: '30' })}`;
  return renderApplicationList(request, application, {
    tab: 'invitations',
    heading: 'Invitations',
    page,
    columns: mayInvite ? [...COLUMNS, revoke] : COLUMNS,
    empty: 'Nobody is invited.',
    form: mayInvite && {
      title: 'Invite somebody',
      submit: 'Invite',
      shown: ['email', 'name', 'group', 'expiresInDays'],
      fields,
    },
  });
}

const COLUMNS = [
  column('E-mail address', ({ email }: InvitationRow) => renderAddress(email)),
  column('State', ({ acceptedAt }: InvitationRow) => (acceptedAt ? 'Accepted' : html`<span class="tag">Open</span>`)),
  wideColumn('Invited', ({ createdAt }: InvitationRow) => renderDay(createdAt)),
  wideColumn('Accepted', ({ acceptedAt }: InvitationRow) => renderDay(acceptedAt)),
  wideColumn('Open until', ({ acceptedAt, expiresAt }: InvitationRow) => (acceptedAt ? '–' : renderDay(expiresAt))),
];

export const inviteByForm = createAction(
  AdminService.method.inviteUser,
  async ({ call, form, params }) => {
    const names = (form.get('group') ?? '').split('\n').map((name) => name.trim());
    const groupIds: string[] = [];
    for (const name of new Set(names)) if (name !== '') groupIds.push((await getGroupByName(call, name)).groupId);
    const days = textOrNull(form, 'expiresInDays');
    return {
      applicationId: params.a,
      email: form.get('email')?.trim() ?? '',
      groupIds,
      name: textOrNull(form, 'name'),
      locale: textOrNull(form, 'locale'),
      expiresInDays: days === null ? null : Number(days),
    };
  },
  ({ params }) => `/applications/${params.a}/invitations?done=invited`,
);

export const revokeInvitationByForm = createAction(
  UserService.method.revokeInvitation,
  ({ form }) => ({ invitationId: form.get('invitationId') ?? '' }),
  ({ params }) => `/applications/${params.a}/invitations?done=withdrawn`,
);
