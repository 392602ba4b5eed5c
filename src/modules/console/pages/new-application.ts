/** The form of a new application, and the page after it: the key, and the quick start with it. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { html } from '../../../http/html.ts';
import { type ConsoleRequest, perform } from '../console-request.ts';
import { renderApplicationHeader } from '../parts/application-header.ts';
import { renderProblem } from '../parts/field.ts';
import { renderForm } from '../parts/form.ts';
import { renderBreadcrumbs, renderPanel } from '../parts/panel.ts';
import { renderQuickStart, variablesOf } from '../parts/quick-start.ts';
import type { ConsolePage } from '../route.ts';
import { APPLICATION_FIELDS, readApplication, renderApplicationFields } from './application-form.ts';
import { fieldsOfKind, kindOf, renderKinds } from './application-kinds.ts';
import { renderOnce } from './keys.ts';

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
