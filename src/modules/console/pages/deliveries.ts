import { DELIVERY_STATUSES, type Delivery } from '../../../domain/webhooks/delivery.ts';
import { getWebhook } from '../../../domain/webhooks/get-webhook.ts';
import { listDeliveries } from '../../../domain/webhooks/list-deliveries.ts';
import type { Webhook } from '../../../domain/webhooks/webhook.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { readFilter, readInstant, renderFilters } from '../parts/filters.ts';
import { renderMoment } from '../parts/moment.ts';
import { JOINED_PAGE_SIZE, pageFields, renderPager } from '../parts/pager.ts';
import { column, renderRows, wideColumn } from '../parts/table.ts';
import { renderWebhookBreadcrumbs } from '../parts/webhook-breadcrumbs.ts';
import type { ConsolePage } from '../route.ts';

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

export function renderDeliveryState({ status }: Pick<Delivery, 'status'>): Html {
  const kind = status === 'failed' ? ' bad' : status === 'pending' ? ' warn' : '';
  return html`<span class="tag${kind}">${status}</span>`;
}
