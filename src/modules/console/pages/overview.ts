/** The figures of the last 24 hours. If a part cannot be read, an alert takes its place, and the other parts are shown. */
import { listApplications } from '../../../domain/applications/list-applications.ts';
import { listOperatorEvents } from '../../../domain/audit/list-audit-events.ts';
import type { CountName } from '../../../domain/core/call.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { renderAuditList } from '../parts/audit-list.ts';
import { type Figure, type FigureBar, mostOf, renderFigure } from '../parts/bars.ts';
import { column, renderRows, wideColumn } from '../parts/list.ts';
import { renderMoment } from '../parts/moment.ts';
import type { Reply } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import {
  type FailingWebhook,
  type HourlyCount,
  listDisabledWebhooks,
  listFailingWebhooks,
  readHourlyCounts,
  readTotals,
  type Total,
} from '../statements/overview.ts';
import { renderMailAlert } from './health-mail.ts';
import { renderWebhookState } from './webhooks.ts';

const HOUR_MS = 60 * 60_000;
const HOURS = 24;
const SHOWN_ROWS = 10;

/** The counts that each chart adds up. One of trouble has the scale of the chart before it, of which it is a part. */
const FIGURES: readonly (readonly [names: readonly CountName[], title: string, isTrouble?: true, href?: string])[] = [
  [['sign_ins'], 'Sign-ins'],
  [['wrong_codes', 'refused_sign_ins'], 'Failed sign-ins', true, '/attempts'],
  [['sign_ups'], 'Sign-ups'],
  [['webhook_attempts'], 'Webhook attempts'],
  [['failed_webhook_attempts'], 'Failed attempts', true],
  [['emails'], 'E-mails sent'],
];

/** Shows the first page. Redirects a team to its applications. */
export async function showOverview(request: ConsoleRequest): Promise<Reply> {
  const { call, operator } = request;
  if (operator.role === 'team') return { redirect: '/applications' };
  const [totals, figures, failing, disabled, lastEvents] = await Promise.all([
    renderOrAlert('The totals', renderTotals(request)),
    renderOrAlert('The figures', renderFigures(request)),
    renderOrAlert('The list of failing webhooks', renderFailing(request)),
    renderOrAlert('The list of disabled webhooks', renderDisabled(request)),
    renderOrAlert('The last changes by operators', renderLastEvents(request)),
  ]);
  const until = `Until ${timeOf(call.now)} UTC`;
  return {
    title: 'Overview',
    section: 'overview',
    body: html`<h1>Overview</h1>
${renderMailAlert(request)}
${totals}
<div class="bar"><h2>Last 24 hours</h2><p class="small soft">${until}, counted once a minute</p></div>
${figures}
${failing}
${disabled}
${lastEvents}`,
  };
}

async function renderOrAlert(subject: string, part: Promise<Html | false>): Promise<Html | false> {
  return part.catch(() => html`<p class="alert warn">${subject} cannot be read at the moment.</p>`);
}

async function renderFigures(request: ConsoleRequest): Promise<Html> {
  const counts = await readHourlyCounts(request.call);
  if (counts.length === 0) return renderBeginning(request);
  const hours = FIGURES.map(([names]) => hoursOf(counts, names, request.call.now));
  const figures = FIGURES.map(([names, title, isTrouble = false, href], index): Figure => {
    const bars = hours[index] ?? [];
    const most = Math.max(mostOf(bars), isTrouble ? mostOf(hours[index - 1] ?? []) : 0);
    const hasTrouble = isTrouble && bars.some(({ count }) => count > 0);
    return { id: names.join('-'), title, href, by: 'an hour', bars, end: 'now', isTrouble: hasTrouble, most };
  });
  return html`<div class="figures">
${figures.map(renderFigure)}
</div>
<details class="small"><summary>The same as a table</summary>
${renderRows({ labelledBy: 'figures-title', columns: columnsOf(figures), rows: figures[0]?.bars.map((_, index) => index) ?? [], empty: '' }, 'table')}
<p class="hide" id="figures-title">Figures by hour</p></details>`;
}

async function renderBeginning({ call, operator, parts }: ConsoleRequest): Promise<Html> {
  const { rows } = await listApplications(call, parts.pageTokens, { pageSize: 1 });
  const create =
    includesRole(operator.role, 'admin') &&
    html`<p><a class="button" href="/applications/new">Create an application</a></p>`;
  const text =
    rows.length === 0
      ? 'Create an application to begin with.'
      : 'The figures appear once an application sends people to the login page.';
  return html`<div class="panel empty"><p><strong>Nobody has signed in yet.</strong> ${text}</p>${rows.length === 0 && create}</div>`;
}

function hoursOf(counts: readonly HourlyCount[], names: readonly string[], now: Date): FigureBar[] {
  const thisHour = Math.floor(now.getTime() / HOUR_MS) * HOUR_MS;
  const byHour = new Map<number, number>();
  for (const { name, hour, count } of counts) {
    if (names.includes(name)) byHour.set(hour.getTime(), (byHour.get(hour.getTime()) ?? 0) + Number(count));
  }
  return Array.from({ length: HOURS }, (_, index) => {
    const at = thisHour - (HOURS - 1 - index) * HOUR_MS;
    return { label: timeOf(new Date(at)), count: byHour.get(at) ?? 0 };
  });
}

const timeOf = (instant: Date) => instant.toISOString().slice(11, 16);

/** Returns the columns of a table with a row per hour. */
function columnsOf(figures: readonly Figure[]) {
  const hour = column('Hour (UTC)', (index: number) => figures[0]?.bars[index]?.label ?? '');
  return [hour, ...figures.map(({ title, bars }) => column(title, (index: number) => String(bars[index]?.count ?? 0)))];
}

async function renderTotals({ call }: ConsoleRequest): Promise<Html> {
  const { users, sessions, pending } = await readTotals(call);
  return html`<dl class="panel totals">
<div><dt>Users</dt><dd>${describeTotal(users)}</dd></div>
<div><dt>Live sessions</dt><dd>${describeTotal(sessions)}</dd></div>
<div><dt>Messages waiting for webhooks</dt><dd>${describeTotal(pending)}</dd></div>
</dl>`;
}

export function describeTotal({ count, kind }: Total): string {
  if (kind === 'about') return `about ${count.toLocaleString('en', { maximumSignificantDigits: 2 })}`;
  return `${count.toLocaleString('en')}${kind === 'at least' ? ' or more' : ''}`;
}

/** The fields that both tables of webhooks have. */
interface AnyWebhook {
  readonly applicationId: string;
  readonly applicationName: string;
  readonly id: string;
  readonly url: string;
  /** Null for the endpoint of back-channel logout, which is a setting of the application. */
  readonly ownerId: string | null;
}

const WEBHOOK_COLUMNS = [
  column('URL', ({ applicationId, id, url, ownerId }: AnyWebhook) => {
    const path = `/applications/${applicationId}`;
    return html`<a href="${ownerId === null ? path : `${path}/webhooks/${id}`}">${isolate(url)}</a>`;
  }),
  wideColumn('Application', ({ applicationName }: AnyWebhook) => isolate(applicationName)),
];

async function renderFailing({ call }: ConsoleRequest): Promise<Html | false> {
  const { rows, hasMore } = await listFailingWebhooks(call);
  if (rows.length === 0) return false;
  const more = `The ${rows.length} that have been failing longest. There are more.`;
  return html`<div class="bar"><h2 id="failing">Webhooks that fail</h2>${hasMore && html`<p class="small soft">${more}</p>`}</div>
${renderRows({ labelledBy: 'failing', columns: FAILING_COLUMNS, rows, empty: '' })}`;
}

const FAILING_COLUMNS = [
  ...WEBHOOK_COLUMNS,
  column('Since (UTC)', ({ failingSince }: FailingWebhook) => renderMoment(failingSince)),
];

async function renderDisabled({ call, parts }: ConsoleRequest): Promise<Html | false> {
  const { rows, nextPageToken } = await listDisabledWebhooks(call, parts.pageTokens, { pageSize: SHOWN_ROWS });
  if (rows.length === 0) return false;
  const more = `The ${rows.length} that were disabled last. There are more.`;
  return html`<div class="bar"><h2 id="disabled">Webhooks that Usher has disabled</h2>${nextPageToken !== '' && html`<p class="small soft">${more}</p>`}</div>
${renderRows({ labelledBy: 'disabled', columns: DISABLED_COLUMNS, rows, empty: '' })}`;
}

type Disabled = Awaited<ReturnType<typeof listDisabledWebhooks>>['rows'][number];

const DISABLED_COLUMNS = [
  ...WEBHOOK_COLUMNS,
  column('Why', ({ disabledReason }: Disabled) => renderWebhookState({ isActive: false, disabledReason })),
  wideColumn('When (UTC)', ({ updatedAt }: Disabled) => renderMoment(updatedAt)),
];

async function renderLastEvents(request: ConsoleRequest): Promise<Html> {
  const { call, operator, parts } = request;
  const given = { readerId: operator.userId, pageSize: SHOWN_ROWS };
  const { rows } = await listOperatorEvents(call, parts.pageTokens, given);
  return html`<div class="bar"><h2>What operators did last</h2><a class="small" href="/audit">All in the audit log</a></div>
${await renderAuditList(request, rows, { level: 3, empty: 'Nothing yet.' })}`;
}
