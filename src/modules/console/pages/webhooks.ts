import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { WebhookService } from '../../../../gen/usher/v1/webhook_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { invalidField, ServiceError } from '../../../domain/core/errors.ts';
import { EVENT_TYPES, EVERY_TYPE } from '../../../domain/outbox/event-types.ts';
import { listWebhooks } from '../../../domain/webhooks/list-webhooks.ts';
import type { WebhookSummary } from '../../../domain/webhooks/webhook.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, findUserId, inApplication, perform } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import { renderCheck, renderField, textOrNull } from '../parts/field.ts';
import { renderDay } from '../parts/moment.ts';
import { JOINED_PAGE_SIZE, pageFields } from '../parts/pager.ts';
import { column, wideColumn } from '../parts/table.ts';
import type { ConsolePage, ConsoleRoute } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

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

export const WEBHOOK_FIELDS = ['url', 'ownerId', 'description'];

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
export function renderWebhookFields(request: ConsoleRequest, webhook?: Given): Html {
  const type = (value: string) =>
    renderCheck(request, {
      name: 'eventTypes',
      value,
      label: value === EVERY_TYPE ? 'Every type, including future ones' : html`<code>${value}</code>`,
      isChecked: webhook?.eventTypes.includes(value) ?? false,
    });
  return html`${renderField(request, { name: 'url', label: 'URL', type: 'url', value: webhook?.url, isRequired: true })}
${renderField(request, { name: 'ownerId', label: 'Owner', value: webhook?.owner.id, placeholder: request.operator.email, note: 'The person to ask about the webhook, for example if it fails: the address or ID of a user of the application, which sees name and address of the owner. Empty: you. You then become a user of the application.' })}
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
export async function readWebhook(request: ConsoleRequest) {
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
export function withOwner(run: ConsoleRoute['run']): ConsoleRoute['run'] {
  return (request) =>
    run(request).catch((error: unknown) => {
      const isMissing = error instanceof ServiceError && error.reason === 'USER_NOT_FOUND';
      throw isMissing ? invalidField('ownerId', 'must be a user of the application') : error;
    });
}

export const createWebhookByForm = withOwner(
  createAction(
    WebhookService.method.createWebhook,
    readWebhook,
    ({ params }, { webhook }) => `/applications/${params.a}/webhooks/${webhook?.webhookId}?done=created`,
  ),
);
