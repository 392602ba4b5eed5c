/** The page of a webhook, with the forms that change and test it. */

import { WebhookService } from '../../../../gen/usher/v1/webhook_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { EVERY_TYPE } from '../../../domain/outbox/event-types.ts';
import { MAX_REDELIVERY_AGE_MS } from '../../../domain/webhooks/delivery.ts';
import { getWebhook } from '../../../domain/webhooks/get-webhook.ts';
import { readWebhookVersion } from '../../../domain/webhooks/update-webhook.ts';
import type { Webhook } from '../../../domain/webhooks/webhook.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderConfirmation, requireName } from '../parts/confirmation.ts';
import { renderProblem } from '../parts/field.ts';
import { renderForm, renderVersion } from '../parts/form.ts';
import { describeMessages } from '../parts/messages.ts';
import { renderMoment } from '../parts/moment.ts';
import { renderActionButton, renderFacts, renderLinkButton, renderNote, renderPanel } from '../parts/panel.ts';
import { renderCopied, renderId } from '../parts/people.ts';
import { renderWebhookBreadcrumbs } from '../parts/webhook-breadcrumbs.ts';
import type { ConsolePage, Reply } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { countDeliveries } from '../statements/count-deliveries.ts';
import { readQueueState } from '../statements/read-queue-state.ts';
import { renderDeliveries } from './deliveries.ts';
import { readWebhook, renderWebhookFields, renderWebhookState, WEBHOOK_FIELDS, withOwner } from './webhooks.ts';

export async function showWebhook(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator } = request;
  const isAdmin = includesRole(operator.role, 'admin');
  const call = await inApplication(request);
  const version = isAdmin ? await readWebhookVersion(call, { webhookId: request.params.w }) : undefined;
  const { webhook, path } = await findWebhook(request);
  const { failingSince, nextAttemptAt } = await readQueueState(call, webhook.id);
  return {
    title: webhook.url,
    section: 'applications',
    body: html`${renderWebhookBreadcrumbs(webhook)}
<div class="bar">
<div><h1 class="address">${isolate(webhook.url)}</h1><p class="soft">${isolate(webhook.description ?? '')} ${renderWebhookState(webhook)}</p></div>
${includesRole(operator.role, 'support') && renderActions(webhook, path)}
</div>
${renderNote(request)}
${renderProblem(request, WEBHOOK_FIELDS)}
${renderPanel(
  'facts',
  'Webhook',
  renderFacts([
    ['Webhook ID', renderId(webhook.id)],
    ['Types', webhook.eventTypes.includes(EVERY_TYPE) ? 'all' : webhook.eventTypes.join(', ') || 'none'],
    ['In order', webhook.ordered ? 'yes' : 'no'],
    [
      'Owner',
      operator.role === 'team'
        ? isolate(showEmail(webhook.owner.email))
        : html`<a href="/users/${webhook.owner.id}">${isolate(showEmail(webhook.owner.email))}</a>`,
    ],
    ['Waiting', await describeCount(request, 'pending')],
    ['Next attempt', nextAttemptAt !== null && renderMoment(nextAttemptAt)],
    ['Failing since', failingSince !== null && html`<span class="tag bad">${renderMoment(failingSince)}</span>`],
    ['Created', renderMoment(webhook.createdAt)],
    ['Changed', renderMoment(webhook.updatedAt)],
    [
      'Signing key',
      isAdmin &&
        html`<details><summary>Show</summary>${renderCopied(webhook.signingKey, html`<code>${webhook.signingKey}</code>`)}</details>`,
    ],
  ]),
)}
${await renderDeliveries(request, webhook, 'Deliveries')}
${isAdmin && renderChanges(request, webhook, path, version)}`,
  };
}

function renderActions({ isActive }: Webhook, path: string): Html {
  if (!isActive) return html`<p class="soft small">Usher sends nothing while the webhook is not active.</p>`;
  return html`<div class="actions tight">${renderActionButton(`${path}/test`, 'Send a test')}${renderLinkButton(`${path}/resend`, 'Redeliver what failed…')}</div>`;
}

function renderChanges(request: ConsoleRequest, webhook: Webhook, path: string, version: string | undefined): Html {
  return html`<details class="panel"${request.problem && html` open`}><summary>Change the webhook</summary>
${renderForm(
  path,
  html`${renderVersion(request, version)}${renderWebhookFields(request, webhook)}
<div class="actions"><button>Save</button></div>`,
  'fields tight body sheet',
)}
</details>
<section class="panel tight" aria-labelledby="end"><header><h2 id="end">Signing key and deletion</h2></header>
<div class="item"><div><strong>Rotate the signing key</strong><p>Messages are signed with both keys for a day.</p></div>${renderLinkButton(`${path}/rotate`, 'Rotate…')}</div>
<div class="item"><div><strong>Delete</strong><p>Waiting messages are not sent.</p></div>${renderLinkButton(`${path}/delete`, 'Delete…', 'danger')}</div>
</section>`;
}

async function describeCount(
  request: ConsoleRequest,
  status: 'pending' | 'failed',
  since = new Date(0),
): Promise<string> {
  const call = await inApplication(request);
  return describeMessages(await countDeliveries(call, { webhookId: request.params.w ?? '', status, since }));
}

function pathOf({ params }: ConsoleRequest): string {
  return `/applications/${params.a}/webhooks/${params.w}`;
}

/** How long the form may stay open: Usher refuses an instant that is more than 14 days ago when the form arrives. */
const MAX_FORM_AGE_MS = 60 * 60_000;

/** Asks before it redelivers, and shows how many deliveries failed in the last 14 days. */
export async function showRedeliver(request: ConsoleRequest): Promise<ConsolePage> {
  const { webhook, path } = await findWebhook(request);
  const since = new Date(request.call.now.getTime() - MAX_REDELIVERY_AGE_MS + MAX_FORM_AGE_MS);
  const count = await describeCount(request, 'failed', since);
  return {
    title: 'Redeliver what failed',
    section: 'applications',
    body: html`${renderWebhookBreadcrumbs(webhook, true)}
<h1>Redeliver what failed</h1>
${renderProblem(request)}
${renderForm(
  `${path}/resend`,
  html`<p>${count} of the last 14 days failed. Usher sends each again, with a new schedule.</p>
<input type="hidden" name="since" value="${since.toISOString()}">
<div class="actions"><button>Redeliver</button><a class="button second" href="${path}">Back</a></div>`,
  'fields tight sheet',
)}`,
  };
}

export const showRotateSigningKey = (request: ConsoleRequest) =>
  confirm(request, {
    title: 'Rotate the signing key',
    text: 'Usher signs with a new key from now on, and for a day also with the old one.',
    submit: 'Rotate',
  });
export const showDeleteWebhook = (request: ConsoleRequest) =>
  confirm(request, { title: 'Delete a webhook', text: 'Waiting messages are not sent.', submit: 'Delete' });

async function confirm(
  request: ConsoleRequest,
  question: { readonly title: string; readonly text: string; readonly submit: string },
): Promise<ConsolePage> {
  const { webhook, path } = await findWebhook(request);
  return renderConfirmation(request, { ...question, section: 'applications', name: webhook.url, back: path });
}

async function findWebhook(request: ConsoleRequest): Promise<{ webhook: Webhook; path: string }> {
  const call = await inApplication(request);
  const webhook = await getWebhook(call, request.parts.cipher, { webhookId: request.params.w });
  return { webhook, path: pathOf(request) };
}

const readId = ({ params }: ConsoleRequest) => ({ webhookId: params.w });
const readNamed = async (request: ConsoleRequest) => {
  requireName(request, (await findWebhook(request)).webhook.url);
  return readId(request);
};
const backWith = (done: string) => (request: ConsoleRequest) => `${pathOf(request)}?done=${done}`;
const { updateWebhook, sendTestMessage, rotateSigningKey, redeliverFailed, deleteWebhook } = WebhookService.method;

export const WEBHOOK_ACTIONS = {
  update: withOwner(
    createAction(
      updateWebhook,
      async (request) => ({ ...readId(request), ...(await readWebhook(request)) }),
      backWith('saved'),
    ),
  ),
  test: createAction(sendTestMessage, readId, backWith('tested')),
  rotate: createAction(rotateSigningKey, readNamed, backWith('saved')),
  redeliver: createAction(
    redeliverFailed,
    (request) => ({ ...readId(request), since: request.form.get('since') ?? '' }) as object,
    backWith('redelivered'),
  ),
  delete: createAction(deleteWebhook, readNamed, ({ params }) => `/applications/${params.a}/webhooks?done=deleted`),
} satisfies Record<string, (request: ConsoleRequest) => Promise<Reply>>;
