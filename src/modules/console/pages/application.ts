/** The page of an application: its settings, a preview of its login page, and its deletion. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { readApplicationVersion } from '../../../domain/applications/update-application.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { LANGUAGES } from '../../../texts/texts.ts';
import { type ConsoleRequest, findApplication } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderApplicationHeader } from '../parts/application-header.ts';
import { renderConfirmation, requireName } from '../parts/confirmation.ts';
import { renderProblem, renderSelect } from '../parts/field.ts';
import { renderForm, renderVersion } from '../parts/form.ts';
import { renderMoment } from '../parts/moment.ts';
import { renderFacts, renderLinkButton, renderNote, renderPanel } from '../parts/panel.ts';
import { renderId } from '../parts/people.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { renderClients } from './application-clients.ts';
import { APPLICATION_FIELDS, readApplication, renderApplicationFields } from './application-form.ts';
import { PREVIEW_FORMS, previewFormOf } from './preview.ts';

export async function showApplication(request: ConsoleRequest): Promise<ConsolePage> {
  const isAdmin = includesRole(request.operator.role, 'admin');
  const version = isAdmin ? await readApplicationVersion(request.call, { applicationId: request.params.a }) : undefined;
  const application = await findApplication(request.call, request.params.a);
  const path = `/applications/${application.id}`;
  const clients = await renderClients(request, application);
  return {
    title: application.name,
    section: 'applications',
    body: html`${renderApplicationHeader(application, 'settings')}
${renderNote(request)}
<div class="two settings">
<div class="stack">
${renderForm(
  path,
  html`${renderProblem(request, APPLICATION_FIELDS)}
<fieldset class="fields"${!isAdmin && html` disabled`}><legend class="hide">Settings</legend>
${renderVersion(request, version)}${renderApplicationFields(request, application)}
${isAdmin ? html`<div class="actions"><button>Save</button><a class="button second" href="${path}">Undo changes</a></div>` : html`<p class="soft small">Only an admin can change these.</p>`}
</fieldset>`,
  'fields tight',
)}
<details class="group"><summary>Example call</summary><pre tabindex="0" role="group" aria-label="Example call"><code>${exampleCall(request, application)}</code></pre></details>
${renderPanel(
  'ids',
  'Application',
  html`${renderFacts([
    ['Application ID', renderId(application.id)],
    ['Created', renderMoment(application.createdAt)],
  ])}${isAdmin && html`<div class="item"><div><strong>Delete</strong><p>Also deletes its keys, webhooks and events.</p></div>${renderLinkButton(`${path}/delete`, 'Delete…', 'danger')}</div>`}`,
  false,
  'panel tight',
)}
${clients}
</div>
${renderPreview(request, application, path, isAdmin)}
</div>`,
  };
}

function renderPreview({ query }: ConsoleRequest, { name }: ApplicationDetails, path: string, isAdmin: boolean): Html {
  const form = previewFormOf(query);
  const lang = query.get('lang') ?? 'en';
  const view = (theme: string) =>
    html`<div><p>${theme === 'light' ? 'Light' : 'Dark'}</p><iframe class="view" sandbox loading="lazy" src="${path}/preview?${new URLSearchParams({ form, theme, lang }).toString()}" title="Login page of ${name}, ${theme}"></iframe></div>`;
  const languages = [...LANGUAGES.values()].map((language) => [language.tag, language.name] as const);
  return html`<section class="panel stay" aria-labelledby="look">
<header class="bar"><h2 id="look">Login page</h2>${isAdmin && html`<a class="small" href="${path}/logo">Logo…</a>`}
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
