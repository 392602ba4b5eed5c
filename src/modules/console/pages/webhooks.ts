/** The webhooks of an application, and the page of a webhook with the forms that change and test it. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { WebhookService } from '../../../../gen/usher/v1/webhook_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { hasReason, invalidField } from '../../../domain/core/errors.ts';
import { EVENT_TYPES, EVERY_TYPE } from '../../../domain/outbox/event-types.ts';
import { MAX_REDELIVERY_AGE_MS } from '../../../domain/webhooks/delivery.ts';
import { getWebhook } from '../../../domain/webhooks/get-webhook.ts';
import { listWebhooks } from '../../../domain/webhooks/list-webhooks.ts';
import { readWebhookVersion } from '../../../domain/webhooks/update-webhook.ts';
import type { Webhook, WebhookSummary } from '../../../domain/webhooks/webhook.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, findUserId, inApplication, perform } from '../console-request.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import {
  createAction,
  renderCheck,
  renderConfirmation,
  renderField,
  renderForm,
  renderProblem,
  renderVersion,
  requireName,
  textOrNull,
} from '../parts/form.ts';
import { column, JOINED_PAGE_SIZE, pageFields, wideColumn } from '../parts/list.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import {
  renderActionButton,
  renderCopied,
  renderFacts,
  renderId,
  renderLinkButton,
  renderNote,
  renderPanel,
} from '../parts/panel.ts';
import type { ConsolePage, ConsoleRoute, Reply } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { countDeliveries, describeMessages, readQueueState } from '../statements/webhooks.ts';
import { renderDeliveries, renderWebhookBreadcrumbs } from './deliveries.ts';

export async function showWebhooks(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, parts, query } = request;
  const call = await inApplication(request);
  const { application } = call;
  const path = `/applications/${application.id}/webhooks`;
  const page = await listWebhooks(call, parts.pageTokens, pageFields(query, JOINED_PAGE_SIZE));
  const columns = [
    column('URL', ({ id, url }: WebhookSummary) => html`<a href="${path}/${id}">${isolate(url)}</a>`),
    column('State', renderWebhookState),
    wideColumn('Types', ({ eventTypes }: WebhookSummary) => describeTypes(eventTypes)),
    wideColumn('Owner', ({ owner }: WebhookSummary) => isolate(showEmail(owner.email))),
    wideColumn('Created', ({ createdAt }: WebhookSummary) => renderDay(createdAt)),
  ];
  const mayCreate = includesRole(operator.role, 'admin');
  return renderApplicationList(request, application, {
    tab: 'webhooks',
    heading: 'Webhooks',
    page,
    columns,
    empty: 'There are no webhooks yet.',
    form: mayCreate && {
      title: 'Create a webhook',
      shown: WEBHOOK_FIELDS,
      fields: renderWebhookFields(request),
      isFolded: true,
    },
  });
}

export function renderWebhookState({
  isActive,
  disabledReason,
}: Pick<WebhookSummary, 'isActive' | 'disabledReason'>): Html {
  if (isActive) return html`Active`;
  const reason =
    disabledReason === null ? 'Not active' : `Disabled: ${disabledReason.toLowerCase().replaceAll('_', ' ')}`;
  return html`<span class="tag ${disabledReason === null ? 'warn' : 'bad'}">${reason}</span>`;
}

function describeTypes(types: readonly string[]): string {
  if (types.includes(EVERY_TYPE)) return 'all';
  return types.length > 2 ? `${types.slice(0, 2).join(', ')} and ${types.length - 2} more` : types.join(', ') || 'none';
}

const WEBHOOK_FIELDS = ['url', 'ownerId', 'description'];

/** The first part of a type is what has changed. */
const TYPE_GROUPS = [
  ['Sessions', 'session.'],
  ['Users', 'user.'],
  ['Events', 'event.'],
  ['Check-ins', 'check_in.'],
  ['Webhook', 'webhook.'],
] as const;

type Given = Pick<WebhookSummary, 'url' | 'ordered' | 'description' | 'isActive'> & {
  readonly eventTypes: readonly string[];
  readonly owner: { readonly id: string };
};

/** Renders the fields of a new or an existing webhook. */
function renderWebhookFields(request: ConsoleRequest, webhook?: Given): Html {
  const type = (value: string) =>
    renderCheck(request, {
      name: 'eventTypes',
      value,
      label: value === EVERY_TYPE ? 'Every type, including future ones' : html`<code>${value}</code>`,
      isChecked: webhook?.eventTypes.includes(value) ?? false,
    });
  return html`${renderField(request, { name: 'url', label: 'URL', type: 'url', value: webhook?.url, isRequired: true })}
${renderField(request, { name: 'ownerId', label: 'Owner', offers: 'user', value: webhook?.owner.id, placeholder: request.operator.email, note: 'The person to ask about the webhook, for example if it fails: the address or ID of a user of the application, which sees name and address of the owner. Empty: you. You then become a user of the application.' })}
${renderField(request, { name: 'description', label: 'Description', value: webhook?.description })}
<fieldset class="check field types"><legend>Types of messages</legend>
${type(EVERY_TYPE)}<div>${TYPE_GROUPS.map(
    ([
      title,
      prefix,
    ]) => html`<fieldset><legend>${title}</legend>${EVENT_TYPES.filter((each) => each.startsWith(prefix)).map(type)}</fieldset>
`,
  )}</div></fieldset>
<fieldset class="check field"><legend>Delivery</legend>
${renderCheck(request, { name: 'isActive', label: 'Active', isChecked: webhook?.isActive ?? true })}${renderCheck(
  request,
  {
    name: 'ordered',
    label: 'In order: each message waits for the previous one',
    isChecked: webhook?.ordered ?? false,
  },
)}</fieldset>`;
}

/** Returns the fields of the request. @throws ServiceError `User not found` if no user has the address of the owner */
async function readWebhook(request: ConsoleRequest) {
  const { form } = request;
  return {
    url: form.get('url')?.trim() ?? '',
    ownerId: await findOwnerId(request, form.get('ownerId')?.trim() ?? ''),
    description: textOrNull(form, 'description'),
    eventTypes: form.getAll('eventTypes'),
    isActive: form.has('isActive'),
    ordered: form.has('ordered'),
  };
}

/** Operators who name themselves become users of the application, as owners must be. */
async function findOwnerId(request: ConsoleRequest, text: string): Promise<string> {
  const { operator, params } = request;
  const id = text === '' ? operator.userId : await findUserId(request, text);
  const fields = { applicationId: params.a ?? '', userId: id };
  if (id === operator.userId) await perform(request, AdminService.method.addApplicationUser, fields);
  return id;
}

/** Shows at its field that the owner is no user of the application. */
function withOwner(run: ConsoleRoute['run']): ConsoleRoute['run'] {
  return (request) =>
    run(request).catch((error: unknown) => {
      throw hasReason(error, 'USER_NOT_FOUND') ? invalidField('ownerId', 'must be a user of the application') : error;
    });
}

export const createWebhookByForm = withOwner(
  createAction(
    WebhookService.method.createWebhook,
    readWebhook,
    ({ params }, { webhook }) => `/applications/${params.a}/webhooks/${webhook?.webhookId}?done=created`,
  ),
);

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
    isNamed: false,
  });
export const showDeleteWebhook = (request: ConsoleRequest) =>
  confirm(request, {
    title: 'Delete a webhook',
    text: 'Waiting messages are not sent.',
    submit: 'Delete',
    isNamed: true,
  });

async function confirm(
  request: ConsoleRequest,
  { isNamed, ...question }: Record<'title' | 'text' | 'submit', string> & { readonly isNamed: boolean },
): Promise<ConsolePage> {
  const { webhook, path } = await findWebhook(request);
  const name = isNamed && webhook.url;
  return renderConfirmation(request, { ...question, section: 'applications', name, back: path });
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
  rotate: createAction(rotateSigningKey, readId, backWith('saved')),
  redeliver: createAction(
    redeliverFailed,
    (request) => ({ ...readId(request), since: request.form.get('since') ?? '' }) as object,
    backWith('redelivered'),
  ),
  delete: createAction(deleteWebhook, readNamed, ({ params }) => `/applications/${params.a}/webhooks?done=deleted`),
} satisfies Record<string, (request: ConsoleRequest) => Promise<Reply>>;
