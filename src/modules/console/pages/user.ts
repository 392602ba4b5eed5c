/** The page of a user, with the forms that change the user. */

import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { MAX_GROUPS_OF_USER } from '../../../domain/groups/group.ts';
import { listUserGroups } from '../../../domain/groups/list-user-groups.ts';
import { listPasskeys } from '../../../domain/passkeys/list-passkeys.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import { readUserVersion } from '../../../domain/users/update-user.ts';
import type { User } from '../../../domain/users/user.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderProblem } from '../parts/field.ts';
import { renderForm, renderVersion } from '../parts/form.ts';
import { renderMoment } from '../parts/moment.ts';
import {
  renderActionButton,
  renderBreadcrumbs,
  renderFacts,
  renderLinkButton,
  renderNote,
  renderPanel,
} from '../parts/panel.ts';
import { renderId } from '../parts/people.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { renderActivity } from './user-activity.ts';
import { readProfile, renderUserFields, USER_FIELDS } from './users.ts';

export async function showUser(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, operator, params, parts } = request;
  const isAdmin = includesRole(operator.role, 'admin');
  const version = isAdmin ? await readUserVersion(call, { userId: params.u }) : undefined;
  const user = await getUser(call, { userId: params.u });
  const passkeys = await listPasskeys(call, { userId: user.id });
  const groups = await listUserGroups(call, parts.pageTokens, { userId: user.id, pageSize: MAX_GROUPS_OF_USER });
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
${includesRole(operator.role, 'support') && renderActions(user, path)}
</div>
${renderNote(request)}
${renderProblem(request, USER_FIELDS)}
${renderPanel(
  'profile',
  'Profile',
  renderFacts([
    ['User ID', renderId(user.id)],
    ['E-mail', isolate(showEmail(user.email))],
    ['Name', user.name !== null && isolate(user.name)],
    ['Wallet', user.walletAddress !== '' && renderId(user.walletAddress)],
    ['Profile image', user.profileImage !== null && isolate(user.profileImage)],
    ['External ID', user.externalId !== null && isolate(user.externalId)],
    ['Attributes', user.attributes !== null && isolate(JSON.stringify(user.attributes))],
    ['Groups', groups.rows.length > 0 && html`${groups.rows.map(renderGroup)}`],
    ['Passkeys', passkeys.length > 0 && html`${passkeys.map(renderPasskey)}`],
    ['Created', renderMoment(user.createdAt)],
    ['Deactivated', user.deactivatedAt !== null && renderMoment(user.deactivatedAt)],
  ]),
)}
${isAdmin && renderEdit(request, user, path, version)}
${await renderActivity(request, user.id)}
${isAdmin && renderEnd(path)}`,
  };
}

function renderTag({ deactivatedAt }: User): Html {
  return deactivatedAt ? html`<span class="tag warn">Deactivated</span>` : html`<span class="tag">Active</span>`;
}

function renderActions(user: User, path: string): Html {
  const about = isolate(showEmail(user.email));
  return html`<div class="actions tight">${
    user.deactivatedAt
      ? renderActionButton(`${path}/reactivate`, 'Reactivate', 'second', about)
      : renderActionButton(`${path}/deactivate`, 'Deactivate', 'danger', about)
  }</div>`;
}

function renderGroup({ groupId, name }: Awaited<ReturnType<typeof listUserGroups>>['rows'][number]): Html {
  return html`<a href="/groups/${groupId}">${isolate(name)}</a><br>`;
}

function renderPasskey({ name, isBackedUp, lastUsedAt }: Awaited<ReturnType<typeof listPasskeys>>[number]): Html {
  const kind = isBackedUp ? 'synced' : 'this device only';
  return html`${isolate(name)}, ${kind}, last used ${renderMoment(lastUsedAt, 'never')}<br>`;
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
