/** The audit log: who changed what, when, and from where. */
import { sendAuditLog } from '../../../api/operations/export-audit-log.ts';
import { isFrequentAction, NO_APPLICATION } from '../../../database/audit-schema.ts';
import { type AuditEvent, listAuditEvents } from '../../../domain/audit/list-audit-events.ts';
import { OWN_APPLICATION_IDS } from '../../../domain/core/own-applications.ts';
import { UUID } from '../../../domain/core/validation.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { readFilter, readInstant, renderFilters } from '../parts/filters.ts';
import { renderMoment } from '../parts/moment.ts';
import { pageFields, renderPager, withFilters } from '../parts/pager.ts';
import { renderAction, renderShortId } from '../parts/people.ts';
import { column, renderRows, wideColumn } from '../parts/table.ts';
import type { ConsolePage, Reply } from '../route.ts';

const FILTERS = [
  { name: 'actor', label: 'Who', placeholder: 'ID of a user or key' },
  { name: 'action', label: 'What', placeholder: 'AdminService/UpdateUser' },
  { name: 'resource', label: 'On what', placeholder: 'Any ID' },
  { name: 'application', label: 'Application', placeholder: 'ID of an application' },
  { name: 'since', label: 'From (UTC)', type: 'datetime-local' },
  { name: 'until', label: 'Until (UTC)', type: 'datetime-local' },
] as const;

function readFilters(query: URLSearchParams) {
  return {
    actor: readFilter(query, 'actor'),
    action: readFilter(query, 'action'),
    resource: readFilter(query, 'resource'),
    applicationId: readFilter(query, 'application'),
    since: readInstant(query, 'since'),
    until: readInstant(query, 'until'),
  };
}

export async function showAudit({ call, operator, parts, query }: ConsoleRequest): Promise<ConsolePage> {
  const given = { ...readFilters(query), ...pageFields(query) };
  const { rows, nextPageToken } = await listAuditEvents(call, parts.pageTokens, given);
  const link = (format: string) =>
    html`<a href="${withFilters(`/audit.${format}`, query)}" download>${format === 'csv' ? 'CSV' : 'JSON lines'}</a>`;
  return {
    title: 'Audit log',
    section: 'audit',
    body: html`<div class="bar"><h1 id="audit">Audit log</h1><p class="small"><a href="/audit?actor=${operator.userId}">What you did</a> · Download all as ${link('csv')} or ${link('jsonl')}</p></div>
${renderFilters(query, FILTERS)}
${renderRows({ labelledBy: 'audit', columns: AUDIT_COLUMNS, rows, empty: 'No events match.' }, 'panel table log')}
${renderPager('/audit', query, nextPageToken)}`,
  };
}

/** Sends the events that match the filters, of all pages of the list. */
export const exportAudit =
  (format: 'csv' | 'jsonl') =>
  async ({ context, parts, query }: ConsoleRequest): Promise<Reply> => {
    await sendAuditLog(parts, context, format, readFilters(query));
    return 'sent';
  };

const WHEN_AND_WHO = [
  column('When (UTC)', ({ occurredAt }: AuditEvent) => renderMoment(occurredAt)),
  column('Who', renderActor),
];

/** The columns for events on a resource that the page already names. */
export const EVENT_COLUMNS = [...WHEN_AND_WHO, column('What', renderWhat)];

export const AUDIT_COLUMNS = [
  ...WHEN_AND_WHO,
  column('What', (event: AuditEvent) => html`${renderWhat(event)}<span class="narrow">${renderResource(event)}</span>`),
  wideColumn('On what', renderResource),
  wideColumn('Application', ({ applicationId }: AuditEvent) =>
    applicationId === NO_APPLICATION
      ? '–'
      : OWN_APPLICATION_IDS.includes(applicationId)
        ? 'Usher'
        : html`<a href="/applications/${applicationId}">${renderShort(applicationId)}</a>`,
  ),
  wideColumn('From', ({ ipAddress }: AuditEvent) => html`<code>${isolate(ipAddress || '–')}</code>`),
  wideColumn('Request', ({ requestId }: AuditEvent) =>
    requestId === '' ? '–' : renderShortId(requestId, shorten(requestId)),
  ),
];

/** Links the action to its filter, except frequent actions, which the index by action does not have. */
function renderWhat({ action }: AuditEvent): Html {
  if (isFrequentAction(action)) return renderAction(action);
  return html`<a href="/audit?${new URLSearchParams({ action }).toString()}">${renderAction(action)}</a>`;
}

const CHECK_INS = ['EventService/CheckIn', 'EventService/UndoCheckIn'];

const ACTORS: Readonly<Record<string, string>> = {
  console: 'Console',
  usher: 'Usher',
  login_page: 'Login page',
  api_key: 'Key',
  admin_key: 'Admin key',
};

function renderActor({ actorType, actor }: AuditEvent): Html {
  const kind = ACTORS[actorType];
  if (actor === '') return html`${kind ?? actorType}`;
  const name = html`${actorType !== 'console' && kind && `${kind} `}${renderShort(actor)}`;
  return html`<a href="/audit?${new URLSearchParams({ actor }).toString()}">${name}</a>`;
}

/** Links the resource to the search, which recognizes IDs by their format. It cannot find attendees. */
function renderResource({ action, resource }: AuditEvent): Html {
  if (resource === '') return html`–`;
  if (CHECK_INS.includes(action)) return renderShort(resource);
  return html`<a href="/search?${new URLSearchParams({ q: resource }).toString()}">${renderShort(resource)}</a>`;
}

function renderShort(id: string): Html {
  return UUID.test(id) || id.length > 24 ? html`<code title="${id}">${isolate(shorten(id))}</code>` : isolate(id);
}

function shorten(id: string): string {
  return id.length > 16 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}
