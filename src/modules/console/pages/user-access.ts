/** The applications of a user: where the user has signed in, and who let the user in to restricted ones. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import { listUserAccess, MAX_LISTED_ACCESS, type UserAccess } from '../../../domain/users/list-user-access.ts';
import type { User } from '../../../domain/users/user.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { createAction, renderField, renderForm, withoutProblem } from '../parts/form.ts';
import { renderDay } from '../parts/moment.ts';
import { findApplicationId } from '../parts/named-things.ts';
import { renderBreadcrumbs, renderPanel } from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

/** The length of the list on the page of the user. A link leads to the whole list. */
const SHORT_LIST = 10;

export async function renderAccess(request: ConsoleRequest, user: User): Promise<Html> {
  const access = await listUserAccess(request.call, user.id);
  const path = `/users/${user.id}/applications`;
  return renderPanel(
    'where',
    'Applications',
    html`${renderItems(request, user, access.slice(0, SHORT_LIST))}${includesRole(request.operator.role, 'admin') && renderLetIn(request, path)}`,
    access.length > SHORT_LIST && html`<a class="small" href="${path}">All applications</a>`,
    'panel tight',
  );
}

/** Shows the applications on a page of their own. */
export async function showUserApplications(request: ConsoleRequest): Promise<ConsolePage> {
  const user = await getUser(request.call, { userId: request.params.u });
  const access = await listUserAccess(request.call, user.id);
  const { email, id } = user;
  return {
    title: `Applications of ${email}`,
    section: 'users',
    body: html`${renderBreadcrumbs(['/users', 'Users'], [`/users/${id}`, isolate(email)])}
<h1>Applications</h1>
<div class="panel tight">${renderItems(request, user, access)}</div>
${access.length === MAX_LISTED_ACCESS && html`<p class="small soft">These are the first ${String(MAX_LISTED_ACCESS)}.</p>`}`,
  };
}

function renderItems({ operator }: ConsoleRequest, user: User, access: readonly UserAccess[]): Html {
  const path = includesRole(operator.role, 'admin') && `/users/${user.id}/applications`;
  if (access.length === 0) return html`<p class="item soft">Has signed in to none, and was let in to none.</p>`;
  return html`${access.map((each) => renderItem(each, user, path))}`;
}

function renderItem(access: UserAccess, user: User, path: string | false): Html {
  const { id, name, isRestricted, addedAt, groupId, groupName } = access;
  const isByName = isRestricted && addedAt !== null;
  const about = isByName
    ? html`Let in ${renderDay(addedAt)}. `
    : isRestricted && groupId !== null
      ? html`Let in by the group <a href="/groups/${groupId}">${isolate(groupName ?? '')}</a>. `
      : isRestricted
        ? html`Not let in any more. `
        : html``;
  const remove =
    isByName &&
    path &&
    renderForm(
      `${path}/remove`,
      html`<input type="hidden" name="applicationId" value="${id}"><button class="danger">Remove<span class="hide"> ${isolate(showEmail(user.email))} from ${isolate(name)}</span></button>`,
    );
  return html`<div class="item"><div><strong><a href="/applications/${id}">${isolate(name)}</a></strong>${isRestricted && html` <span class="tag">Restricted</span>`}<p>${about}${renderLast(access)}</p></div>${remove}</div>\n`;
}

function renderLast({ hasSignedIn, lastSignedInAt }: UserAccess): Html {
  if (!hasSignedIn) return html`Never signed in.`;
  return lastSignedInAt ? html`Last used ${renderDay(lastSignedInAt)}.` : html`Has signed in.`;
}

function renderLetIn(request: ConsoleRequest, path: string): Html {
  const own = request.context.path === path ? request : withoutProblem(request);
  return renderForm(
    path,
    html`${renderField(own, { name: 'applicationId', label: 'Let in to', offers: 'application', isRequired: true, placeholder: 'Name, client ID or ID of a restricted application' })}<button class="second">Let in</button>`,
    'item find low',
  );
}

const { addApplicationUser, removeApplicationUser } = AdminService.method;
const backWith = (done: string) => (request: ConsoleRequest) => `/users/${request.params.u}?done=${done}`;

export const USER_ACCESS_ACTIONS = {
  letIn: createAction(
    addApplicationUser,
    async (request) => ({
      applicationId: await findApplicationId(request, request.form.get('applicationId')?.trim() ?? ''),
      userId: request.params.u,
    }),
    backWith('let-in'),
  ),
  remove: createAction(
    removeApplicationUser,
    ({ form, params }) => ({ applicationId: form.get('applicationId') ?? '', userId: params.u }),
    backWith('let-out'),
  ),
};
