/** The deliveries to a webhook, and the page of a delivery: the message, the attempts, and the answers. */
import { WebhookService } from '../../../../gen/usher/v1/webhook_pb.ts';
import { readSigningKey, signMessage } from '../../../delivery/send-delivery.ts';
import { DELIVERY_STATUSES, type Delivery, numberOf } from '../../../domain/webhooks/delivery.ts';
import { type DeliveryDetails, getDelivery } from '../../../domain/webhooks/get-delivery.ts';
import { getWebhook } from '../../../domain/webhooks/get-webhook.ts';
import { listDeliveries } from '../../../domain/webhooks/list-deliveries.ts';
import type { Webhook } from '../../../domain/webhooks/webhook.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { createAction, renderProblem } from '../parts/form.ts';
import {
  column,
  JOINED_PAGE_SIZE,
  pageFields,
  readFilter,
  readInstant,
  renderFilters,
  renderPager,
  renderRows,
  wideColumn,
} from '../parts/list.ts';
import { renderMoment } from '../parts/moment.ts';
import {
  renderActionButton,
  renderBreadcrumbs,
  renderFacts,
  renderId,
  renderNote,
  renderPanel,
} from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

const FILTERS = [
  {
    name: 'status',
    label: 'State',
    options: [['', 'All'], ...DELIVERY_STATUSES.map((status): [string, string] => [status, status])] as const,
  },
  { name: 'since', label: 'Since (UTC)', isInstant: true },
] as const;

export async function showDeliveries(request: ConsoleRequest): Promise<ConsolePage> {
  const call = await inApplication(request);
  const webhook = await getWebhook(call, request.parts.cipher, { webhookId: request.params.w });
  return {
    title: `Deliveries to ${webhook.url}`,
    section: 'applications',
    body: html`${renderWebhookBreadcrumbs(webhook, true)}
${await renderDeliveries(request, webhook, 'Deliveries', true)}`,
  };
}

/** Renders the list: on its own page with filters and all pages, otherwise the latest ten. */
export async function renderDeliveries(
  request: ConsoleRequest,
  { id }: Webhook,
  title: string,
  isPage = false,
): Promise<Html> {
  const { params, parts, query } = request;
  const call = await inApplication(request);
  const path = `/applications/${params.a}/webhooks/${id}/deliveries`;
  const since = readInstant(query, 'since');
  const filters = { status: readFilter(query, 'status'), since };
  const given = isPage ? { ...filters, ...pageFields(query, JOINED_PAGE_SIZE) } : { pageSize: 10 };
  const { rows, nextPageToken } = await listDeliveries(call, parts.pageTokens, { webhookId: id, ...given });
  const empty =
    query.get('status') === 'failed' && since ? `Nothing has failed since ${query.get('since')}.` : 'No delivery.';
  const table = renderRows({ labelledBy: 'deliveries', columns: columnsAt(path), rows, empty });
  if (!isPage) {
    return html`<div class="bar"><h2 id="deliveries">${title}</h2><a class="small" href="${path}">All, with filters</a></div>
${table}`;
  }
  return html`<h1 id="deliveries">${title}</h1>
${renderFilters(query, FILTERS)}
${table}
${renderPager(path, query, nextPageToken)}`;
}

function columnsAt(path: string) {
  return [
    column('Message', ({ messageId, type }: Delivery) => html`<a href="${path}/${messageId}">${type || messageId}</a>`),
    column('State', renderDeliveryState),
    wideColumn('Attempts', ({ attemptCount }: Delivery) => String(attemptCount)),
    column('Last answer', ({ lastStatusCode, lastError }: Delivery) =>
      lastStatusCode === null ? isolate(lastError ?? '–') : String(lastStatusCode),
    ),
    wideColumn('Next attempt', ({ nextAttemptAt }: Delivery) => renderMoment(nextAttemptAt)),
    wideColumn('Created (UTC)', ({ createdAt }: Delivery) => renderMoment(createdAt)),
  ];
}

function renderDeliveryState({ status }: Pick<Delivery, 'status'>): Html {
  const kind = status === 'failed' ? ' bad' : status === 'pending' ? ' warn' : '';
  return html`<span class="tag${kind}">${status}</span>`;
}

export async function showDelivery(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, params, parts } = request;
  const call = await inApplication(request);
  const ids = { webhookId: params.w, messageId: params.m };
  const webhook = await getWebhook(call, parts.cipher, ids);
  const delivery = await getDelivery(call, ids);
  const path = `/applications/${params.a}/webhooks/${webhook.id}`;
  const isSupport = includesRole(operator.role, 'support');
  return {
    title: delivery.type || delivery.messageId,
    section: 'applications',
    body: html`${renderWebhookBreadcrumbs(webhook, true)}
<div class="bar">
<div><h1>${delivery.type || delivery.messageId}</h1><p class="soft">To ${isolate(webhook.url)} ${renderDeliveryState(delivery)}</p></div>
${isSupport && webhook.isActive && html`<div class="tight">${renderActionButton(`${path}/deliveries/${delivery.messageId}/resend`, 'Send again')}</div>`}
</div>
${renderNote(request)}
${renderProblem(request)}
${!webhook.isActive && renderInactive(webhook, path)}
${renderAttempts(delivery, isSupport)}
${renderPanel(
  'facts',
  'Message',
  renderFacts([
    ['Message ID', renderId(delivery.messageId)],
    ['Type', delivery.type],
    ['Created', renderMoment(delivery.createdAt)],
    ['State', `${delivery.status}, ${delivery.attemptCount} attempt${delivery.attemptCount === 1 ? '' : 's'}`],
    ['Next attempt', delivery.nextAttemptAt !== null && renderMoment(delivery.nextAttemptAt)],
  ]),
)}
${isSupport ? renderContent(webhook, delivery) : html`<p class="soft small">Only the roles support and admin see payloads and answers.</p>`}`,
  };
}

function renderInactive(webhook: Webhook, path: string): Html {
  return html`<div class="alert warn bar tight"><p>The webhook is not active, so Usher sends nothing.</p><a class="button second" href="${path}">Open ${isolate(webhook.url)}</a></div>`;
}

type Attempt = DeliveryDetails['attempts'][number] & { readonly number: number };

function renderAttempts({ attempts, nextAttemptAt }: DeliveryDetails, isSupport: boolean): Html {
  const rows = attempts.map((attempt, index) => ({ ...attempt, number: index + 1 })).reverse();
  const body = column('Answer', ({ error, responseBody }: Attempt) => renderAnswer(error, responseBody));
  const empty = html`No attempt yet; due at ${renderMoment(nextAttemptAt)}`;
  return html`<h2 id="attempts">Attempts</h2>
${renderRows({ labelledBy: 'attempts', columns: isSupport ? [...ATTEMPT_COLUMNS, body] : ATTEMPT_COLUMNS, rows, empty })}`;
}

const ATTEMPT_COLUMNS = [
  wideColumn('#', ({ number }: Attempt) => String(number)),
  column('When (UTC)', ({ at }: Attempt) => renderMoment(at)),
  column('Status', ({ statusCode }: Attempt) => {
    const isGood = statusCode !== null && statusCode < 300;
    return html`<span class="tag${!isGood && ' bad'}">${statusCode === null ? 'No answer' : String(statusCode)}</span>`;
  }),
  wideColumn('Time', ({ durationMs }: Attempt) => describeDuration(durationMs)),
];

function describeDuration(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function renderAnswer(error: string | null, body: string | null): Html | string {
  if (!body) return isolate(error ?? '–');
  return html`${error !== null && html`${isolate(error)}<br>`}<details><summary>${String(Buffer.byteLength(body))} bytes</summary><code>${isolate(body)}</code></details>`;
}

function renderContent(webhook: Webhook, { messageId, payload, attempts }: DeliveryDetails): Html {
  if (payload === null) return html`<p class="soft">The payload was deleted with its message.</p>`;
  const last = attempts.at(-1);
  return html`${last && renderPanel('headers', 'Headers of the last attempt, with the current key', renderCode('headers', describeHeaders(webhook, messageId, payload, last.at)))}
${renderPanel('payload', 'Payload', renderCode('payload', format(payload)))}`;
}

function renderCode(labelledBy: string, text: string): Html {
  return html`<pre class="wrap" tabindex="0" role="group" aria-labelledby="${labelledBy}"><code>${isolate(text)}</code></pre>`;
}

function describeHeaders({ signingKey }: Webhook, id: string, body: string, at: Date): string {
  const timestamp = Math.floor(at.getTime() / 1_000);
  const signature = signMessage({ id, timestamp, body }, [readSigningKey(signingKey)]);
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
    'webhook-sequence': numberOf(id),
    'content-type': 'application/json',
  };
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

function format(payload: string): string {
  return JSON.stringify(JSON.parse(payload), null, 2);
}

export const redeliverByForm = createAction(
  WebhookService.method.redeliver,
  ({ params }) => ({ webhookId: params.w, messageId: params.m }),
  ({ params }) => `/applications/${params.a}/webhooks/${params.w}/deliveries/${params.m}?done=redelivered`,
);

/** Renders breadcrumbs for the page of a webhook, or for a page below it. */
export function renderWebhookBreadcrumbs({ id, url, application }: Webhook, isBelow = false): Html {
  const path = `/applications/${application.id}`;
  const webhook = [`${path}/webhooks/${id}`, isolate(url)] as const;
  return renderBreadcrumbs(
    [path, isolate(application.name)],
    [`${path}/webhooks`, 'Webhooks'],
    ...(isBelow ? [webhook] : []),
  );
}
