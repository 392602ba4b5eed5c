/** The list of applications, the page of an application with its settings and clients, and a new one with its quick start. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { listApplications } from '../../../domain/applications/list-applications.ts';
import { readApplicationVersion } from '../../../domain/applications/update-application.ts';
import type { Call } from '../../../domain/core/call.ts';
import { hasReason } from '../../../domain/core/errors.ts';
import { endClient, listResourceClients } from '../../../domain/grants/clients.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { LANGUAGES } from '../../../texts/texts.ts';
import { type ConsoleRequest, createOperatorCall, findApplication, perform } from '../console-request.ts';
import { renderApplicationHeader } from '../parts/application-list.ts';
import {
  createAction,
  renderConfirmation,
  renderForm,
  renderProblem,
  renderSelect,
  renderVersion,
  requireName,
} from '../parts/form.ts';
import { column, pageFields, renderPager, renderRows, wideColumn } from '../parts/list.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import { type Names, readNames, renderNameOf } from '../parts/names.ts';
import { renderBreadcrumbs, renderFacts, renderId, renderLinkButton, renderNote, renderPanel } from '../parts/panel.ts';
import { renderQuickStart, variablesOf } from '../parts/quick-start.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { APPLICATION_FIELDS, readApplication, renderApplicationFields } from './application-form.ts';
import { PREVIEW_FORMS, previewFormOf } from './application-look.ts';
import { renderOnce } from './keys.ts';

/** Shows a team its own applications only. */
export async function showApplications(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, operator, parts, query } = request;
  const { rows, nextPageToken } =
    operator.role === 'team'
      ? { rows: await findTeamApplications(call, operator), nextPageToken: '' }
      : await listApplications(call, parts.pageTokens, pageFields(query));
  const names = await readNames(call, { application: rows.map(({ id }) => id) });
  const mayCreate = includesRole(operator.role, 'admin');
  const empty = html`There are no applications yet.${mayCreate && html` <a href="/applications/new">Create one</a>`}`;
  return {
    title: 'Applications',
    section: 'applications',
    body: html`<div class="bar"><h1 id="applications">Applications</h1>${
      mayCreate && html`<a class="button tight" href="/applications/new">Create an application</a>`
    }</div>
${renderNote(request)}
${renderRows({ labelledBy: 'applications', columns: columnsWith(names), rows, empty })}
${renderPager('/applications', query, nextPageToken)}`,
  };
}

/** Leaves out deleted applications, which `OPERATORS_FILE` may still name. */
async function findTeamApplications(
  call: Call,
  { applicationIds }: ConsoleRequest['operator'],
): Promise<ApplicationDetails[]> {
  const found = await Promise.all(applicationIds.map((id) => findApplication(call, id).catch(ignoreMissing)));
  return found.filter((application) => application !== undefined);
}

function ignoreMissing(error: unknown): undefined {
  if (!hasReason(error, 'APPLICATION_NOT_FOUND')) throw error;
  return undefined;
}

const columnsWith = (names: Names) => [
  column('Name', ({ id }: ApplicationDetails) => html`<a href="/applications/${id}">${renderNameOf(names, id)}</a>`),
  wideColumn('Client ID', ({ clientId }: ApplicationDetails) => html`<code>${isolate(clientId)}</code>`),
  wideColumn('Signing in', describeSignUp),
  column('Created', ({ createdAt }: ApplicationDetails) => renderDay(createdAt)),
];

function describeSignUp({ allowSignUp, signUpEmailDomains: domains }: ApplicationDetails): string {
  if (!allowSignUp) return 'Users only';
  return domains.length === 0 ? 'Everyone' : 'Users, and addresses of listed domains';
}

export async function showNewApplication(request: ConsoleRequest): Promise<ConsolePage> {
  return {
    title: 'Create an application',
    section: 'applications',
    body: html`${renderBreadcrumbs(['/applications', 'Applications'])}
<h1>Create an application</h1>
${renderProblem(request, APPLICATION_FIELDS)}
${renderForm(
  '/applications/new',
  html`${renderKinds(request)}${renderApplicationFields(request)}
<div class="actions"><button>Create</button><a class="button second" href="/applications">Back</a></div>`,
  'fields tight sheet',
)}`,
  };
}

/** Shows the new key in the answer to its form, not after a redirect: nothing has stored it. */
export async function createApplicationByForm(request: ConsoleRequest): Promise<ConsolePage> {
  const given = readApplication(request);
  const fields = { ...given, ...fieldsOfKind(request.form, given) };
  const { application, apiKey = '' } = await perform(request, AdminService.method.createApplication, fields);
  const { id = '', name = '', clientId = '' } = application ?? {};
  const kind = kindOf(request.form).id;
  const usherUrl = request.parts.tokens.issuer.replace(/\/$/, '');
  const path = `/applications/${id}`;
  const created = { kind, path, usherUrl, clientId, apiKey, redirectUris: given.redirectUris };
  return {
    title: `Created: ${name}`,
    section: 'applications',
    body: html`${renderApplicationHeader({ id, name, clientId }, 'keys')}
${renderOnce(
  `${path}/keys`,
  variablesOf(created),
  kind === 'single-page'
    ? html`<strong>Created.</strong> These values are no secret. The page needs no key.`
    : html`<strong>Created. The key is shown once.</strong> Copy this line now, and paste it where the application runs.`,
)}
${renderPanel('start', 'Quick start', html`<div class="body fields tight">${renderQuickStart(created)}</div>`)}`,
  };
}

interface Kind {
  readonly id: 'server' | 'own-page' | 'product' | 'single-page';
  readonly label: string;
  readonly about: string;
  readonly openIdConnect?: true;
  readonly publicClient?: true;
}

const SERVER: Kind = {
  id: 'server',
  label: 'Server',
  about: 'Your server sends people to the login page of Usher, and keeps their session.',
};

const KINDS: readonly Kind[] = [
  SERVER,
  {
    id: 'own-page',
    label: 'Own page',
    about: 'People sign in on a page of yours, for example with a password.',
  },
  {
    id: 'product',
    label: 'Product',
    about: 'Software that speaks OpenID Connect, such as Grafana, GitLab or Nextcloud.',
    openIdConnect: true,
  },
  {
    id: 'single-page',
    label: 'Single-page app',
    about: 'A page or a mobile app without a server. It keeps no secret, and uses OpenID Connect.',
    openIdConnect: true,
    publicClient: true,
  },
];

function kindOf(form: URLSearchParams): Kind {
  return KINDS.find(({ id }) => id === form.get('kind')) ?? SERVER;
}

function renderKinds({ parts, problem }: ConsoleRequest): Html {
  const chosen = problem ? kindOf(problem.form) : SERVER;
  return html`<fieldset class="kinds"><legend>What is it?</legend>
<div>${KINDS.map(
    (kind) =>
      html`<label><input type="radio" name="kind" value="${kind.id}"${kind === chosen && html` checked`}><span><strong>${kind.label}</strong> ${kind.about}${kind.openIdConnect && !parts.hasOidc && html` <b>It is off: set <code>OIDC_SIGNING_KEYS_FILE</code>.</b>`}</span></label>\n`,
  )}</div></fieldset>\n`;
}

/** Returns the fields that the kind decides. Usher demands a code challenge (PKCE) until an operator says otherwise. */
function fieldsOfKind(form: URLSearchParams, { redirectUris, postLogoutRedirectUris }: Uris) {
  const { openIdConnect = false, publicClient = false } = kindOf(form);
  const roots = openIdConnect ? redirectUris.flatMap(rootOf) : [];
  return {
    openIdConnect,
    publicClient,
    requirePkce: true,
    postLogoutRedirectUris: postLogoutRedirectUris.length > 0 ? postLogoutRedirectUris : [...new Set(roots)],
  };
}

interface Uris {
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
}

/** Most clients come back to their root after a logout. */
function rootOf(uri: string): string[] {
  return /^https?:/.test(uri) && URL.canParse(uri) ? [new URL('/', uri).href] : [];
}

export async function showApplication(request: ConsoleRequest): Promise<ConsolePage> {
  const isAdmin = includesRole(request.operator.role, 'admin');
  const version = isAdmin ? await readApplicationVersion(request.call, { applicationId: request.params.a }) : undefined;
  const application = await findApplication(request.call, request.params.a);
  const isDeclared = application.declaredByFile === true;
  const mayEdit = isAdmin && !isDeclared;
  const path = `/applications/${application.id}`;
  const clients = await renderClients(request, application);
  const fields = html`${renderProblem(request, APPLICATION_FIELDS)}
<fieldset class="fields"${!mayEdit && html` disabled`}><legend class="hide">Settings</legend>
${mayEdit && renderVersion(request, version)}${renderApplicationFields(request, application)}
${mayEdit ? html`<div class="actions"><button>Save</button><a class="button second" href="${path}">Undo changes</a></div>` : !isDeclared && html`<p class="soft small">Only an admin can change these.</p>`}
</fieldset>`;
  return {
    title: application.name,
    section: 'applications',
    body: html`${renderApplicationHeader(application, 'settings')}
${renderNote(request)}
<div class="two settings">
<div class="stack">
${isDeclared ? html`<div class="fields tight">${fields}</div>` : renderForm(path, fields, 'fields tight')}
<details class="group"><summary>Example call</summary><pre tabindex="0" role="group" aria-label="Example call"><code>${exampleCall(request, application)}</code></pre></details>
${renderPanel(
  'ids',
  'Application',
  html`${renderFacts([
    ['Application ID', renderId(application.id)],
    ['Created', renderMoment(application.createdAt)],
  ])}${mayEdit && html`<div class="item"><div><strong>Delete</strong><p>Also deletes its keys, webhooks and events.</p></div>${renderLinkButton(`${path}/delete`, 'Delete…', 'danger')}</div>`}`,
  false,
  'panel tight',
)}
${clients}
</div>
${renderPreview(request, application, path, mayEdit)}
</div>`,
  };
}

function renderPreview({ query }: ConsoleRequest, { name }: ApplicationDetails, path: string, mayEdit: boolean): Html {
  const form = previewFormOf(query);
  const lang = query.get('lang') ?? 'en';
  const view = (theme: string) =>
    html`<div><p>${theme === 'light' ? 'Light' : 'Dark'}</p><iframe class="view" sandbox loading="lazy" src="${path}/preview?${new URLSearchParams({ form, theme, lang }).toString()}" title="Login page of ${name}, ${theme}"></iframe></div>`;
  const languages = [...LANGUAGES.values()].map((language) => [language.tag, language.name] as const);
  return html`<section class="panel stay" aria-labelledby="look">
<header class="bar"><h2 id="look">Login page</h2>${mayEdit && html`<a class="small" href="${path}/logo">Logo…</a>`}
<form class="pick tight">${renderSelect('form', 'Page', PREVIEW_FORMS, form)}${renderSelect('lang', 'Language', languages, lang)}<button class="second">Show</button></form>
</header>
<div class="views">${view('light')}${view('dark')}</div>
</section>`;
}

function exampleCall({ parts }: ConsoleRequest, { clientId, redirectUris }: ApplicationDetails): string {
  const body = JSON.stringify({ redirectUri: redirectUris[0] ?? '', state: 'a-random-text' });
  const url = `${parts.tokens.issuer.replace(/\/$/, '')}/api/oauth/generate-auth-url?clientId=${clientId}`;
  return `curl -X POST '${url}' \\\n  -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' \\\n  -d '${body}'`;
}

export async function showDeleteApplication(request: ConsoleRequest): Promise<ConsolePage> {
  const { id, name } = await findApplication(request.call, request.params.a);
  return renderConfirmation(request, {
    title: 'Delete an application',
    section: 'applications',
    text: html`${isolate(name)} can no longer call Usher, and nobody can sign in to it. Its webhooks get no more messages.`,
    name,
    submit: 'Delete',
    back: `/applications/${id}`,
  });
}

const { updateApplication, deleteApplication } = AdminService.method;

export const APPLICATION_ACTIONS = {
  update: createAction(
    updateApplication,
    (request) => ({ applicationId: request.params.a, ...readApplication(request) }),
    ({ params }) => `/applications/${params.a}?done=saved`,
  ),
  delete: createAction(
    deleteApplication,
    async (request) => {
      const { id, name } = await findApplication(request.call, request.params.a);
      requireName(request, name);
      return { applicationId: id };
    },
    () => '/applications?done=deleted',
  ),
};

/** Renders nothing for an application that is no resource, whose page then needs no statement more. */
async function renderClients(
  { call, operator }: ConsoleRequest,
  { id, resourceUri }: ApplicationDetails,
): Promise<Html | false> {
  if (resourceUri === null) return false;
  const clients = await listResourceClients(call, id);
  const mayEnd = includesRole(operator.role, 'support');
  const items = clients.map(({ clientId, clientName, grants }) => {
    const end = renderForm(
      `/applications/${id}/clients/end`,
      html`<input type="hidden" name="clientId" value="${clientId}"><button class="danger">End all<span class="hide">: ${isolate(clientName ?? clientId)}</span></button>`,
    );
    return html`<div class="item"><div><strong>${isolate(clientName ?? 'A registered client')}</strong><p><bdi dir="ltr">${clientId}</bdi> · ${String(grants)} ${grants === 1 ? 'grant' : 'grants'}</p></div>${mayEnd && end}</div>`;
  });
  const none = html`<p class="item soft">No client acts for anybody at the moment.</p>`;
  return renderPanel('clients', 'Clients with access', html`${items.length > 0 ? items : none}`, false, 'panel tight');
}

/** Ends the grants and consents of a client, of all users. */
export async function endClientByForm({ call, context, form, operator, params, parts }: ConsoleRequest) {
  const { id: applicationId } = await findApplication(call, params.a);
  const audited = createOperatorCall(context, parts, operator.userId, 'EndClient');
  await endClient(audited, { applicationId, clientId: form.get('clientId') ?? '', userId: null });
  return { redirect: `/applications/${applicationId}?done=clientEnded` };
}
