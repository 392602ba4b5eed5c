/** Who belongs to an application beside its users: their sessions, its groups, and its invitations. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { SessionService } from '../../../../gen/usher/v1/session_pb.ts';
import { UserService } from '../../../../gen/usher/v1/user_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { invalidField } from '../../../domain/core/errors.ts';
import { getGroupByName } from '../../../domain/groups/get-group.ts';
import { type ApplicationGroup, listApplicationGroups } from '../../../domain/groups/list-application-groups.ts';
import { changeGroupAccess } from '../../../domain/groups/set-group-access.ts';
import type { InvitationRow } from '../../../domain/invitations/invitation.ts';
import { listInvitations } from '../../../domain/invitations/list-invitations.ts';
import { listSessions } from '../../../domain/sessions/list-sessions.ts';
import { html } from '../../../http/html.ts';
import { isolate, renderAddress } from '../../../texts/isolate.ts';
import { LANGUAGES } from '../../../texts/texts.ts';
import { type ConsoleRequest, createOperatorCall, inApplication } from '../console-request.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import {
  createAction,
  renderCheck,
  renderField,
  renderForm,
  renderProblem,
  renderSelect,
  textOrNull,
} from '../parts/form.ts';
import { actionsColumn, column, pageFields, readFilter, wideColumn } from '../parts/list.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import { renderBrowser, renderMethodLabel } from '../parts/panel.ts';
import type { ConsolePage, ConsoleRoute } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

type LiveSession = Awaited<ReturnType<typeof listSessions>>['rows'][number];

/** Few, because Postgres looks up the user and three cut-offs for each session. */
const SESSIONS_A_PAGE = 9;
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
    columns: includesRole(operator.role, 'support') ? [...sessionColumns(request), end] : sessionColumns(request),
    empty: 'No live session.',
    above: renderProblem(request),
  });
}

const sessionColumns = ({ parts }: ConsoleRequest) => [
  column('User', ({ email }: LiveSession) => renderAddress(email)),
  wideColumn('Method', ({ method }: LiveSession) => renderMethodLabel(parts, method)),
  column('Browser', ({ userAgent }: LiveSession) => renderBrowser(userAgent)),
  wideColumn('Address', ({ ipAddress }: LiveSession) => html`<code>${isolate(ipAddress || '–')}</code>`),
  wideColumn('Ends (UTC)', ({ expiresAt }: LiveSession) => renderMoment(expiresAt)),
];

export const endSession = createAction(
  SessionService.method.revokeUserSessions,
  ({ form }) => ({ userId: form.get('userId') ?? '' }),
  ({ params }) => `/applications/${params.a}/sessions?done=ended`,
);

type Meaning = 'allowsAccess' | 'inClaim';

export async function showApplicationGroups(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator } = request;
  const call = await inApplication(request);
  const { application } = call;
  const rows = await listApplicationGroups(call, { applicationId: application.id });
  const mayEdit = includesRole(operator.role, 'admin') && !application.declaredByFile;
  const mayOpen = operator.role !== 'team';
  const switched = (title: string, meaning: Meaning) =>
    column(title, ({ groupId, name, [meaning]: isOn }: ApplicationGroup) => {
      if (!mayEdit) return isOn ? 'Yes' : 'No';
      return renderForm(
        `/applications/${application.id}/groups/change`,
        html`<input type="hidden" name="groupId" value="${groupId}"><input type="hidden" name="${meaning}" value="${String(!isOn)}"><button class="switch" role="switch" aria-checked="${String(isOn)}"><span class="hide">${title}: ${isolate(name)}</span></button>`,
      );
    });
  const columns = [
    column('Group', ({ groupId, name }: ApplicationGroup) =>
      mayOpen ? html`<a href="/groups/${groupId}">${isolate(name)}</a>` : isolate(name),
    ),
    wideColumn('Display name', ({ displayName }: ApplicationGroup) =>
      displayName === null ? '–' : isolate(displayName),
    ),
    switched('May sign in', 'allowsAccess'),
    switched('Application sees it', 'inClaim'),
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
    form: mayEdit && { title: 'Add a group', submit: 'Add', shown: ['group'], fields },
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
  const fields = html`${renderField(request, { name: 'email', label: 'E-mail address', value: query.get('email'), isRequired: true, note })}
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
