/** The audit log: who changed what, when, and from where. */
import { sendAuditLog } from '../../../api/operations/export-audit-log.ts';
import { listAuditEvents } from '../../../domain/audit/list-audit-events.ts';
import { html } from '../../../http/html.ts';
import { withoutDirectionControls } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { ACTION_TEXTS } from '../parts/action-texts.ts';
import { NAMED_BY, readAuditFilters, renderChoices } from '../parts/audit-filters.ts';
import { renderAuditList } from '../parts/audit-list.ts';
import { type Filter, JOINED_PAGE_SIZE, pageFields, renderFilters, renderPager, withFilters } from '../parts/list.ts';
import type { ConsolePage, Reply } from '../route.ts';

/** Two may have one text: the log has each under a name of its own. */
const ACTIONS = [...ACTION_TEXTS]
  .map(([action, [text]]) => [action, text] as const)
  .sort(([, one], [, other]) => one.localeCompare(other, 'en'));

/** Keeps an action of another version, which has no text. */
function filtersOf(query: URLSearchParams): readonly Filter[] {
  const action = query.get('action') ?? '';
  const isOther = action !== '' && !ACTION_TEXTS.has(action);
  const options = [
    ['', 'Anything'] as const,
    ...ACTIONS,
    ...(isOther ? [[action, withoutDirectionControls(action)] as const] : []),
  ];
  return [
    { name: 'actor', label: 'Who', offers: NAMED_BY.actor, placeholder: 'Name, address or ID' },
    { name: 'action', label: 'What', options },
    { name: 'resource', label: 'On what', offers: NAMED_BY.resource, placeholder: 'Name, address or ID' },
    { name: 'application', label: 'Application', offers: NAMED_BY.application, placeholder: 'Name or ID' },
    { name: 'since', label: 'From (UTC)', isInstant: true },
    { name: 'until', label: 'Until (UTC)', isInstant: true },
  ];
}

export async function showAudit(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, operator, parts, query } = request;
  const { given, choices, summary } = await readAuditFilters(request);
  const isAmbiguous = Object.keys(choices).length > 0;
  const { rows, nextPageToken } = isAmbiguous
    ? { rows: [], nextPageToken: '' }
    : await listAuditEvents(call, parts.pageTokens, { ...given, ...pageFields(query, JOINED_PAGE_SIZE) });
  const empty = nextPageToken === '' ? 'No events match.' : 'None among the 500 events here. There may be older ones.';
  const link = (format: string) =>
    html`<a href="${withFilters(`/audit.${format}`, query)}" download>${format === 'csv' ? 'CSV' : 'JSON lines'}</a>`;
  return {
    title: 'Audit log',
    section: 'audit',
    body: html`<div class="bar"><h1 id="audit">Audit log</h1><p class="small"><a href="/audit?actor=${operator.userId}">What you did</a> · Download all as ${link('csv')} or ${link('jsonl')}</p></div>
${renderFilters(query, filtersOf(query))}
${summary && !isAmbiguous && html`<p class="small soft">${summary}</p>`}
${isAmbiguous ? renderChoices(query, choices) : await renderAuditList(request, rows, { level: 2, empty })}
${renderPager('/audit', query, nextPageToken)}`,
  };
}

/** Sends the events that match the filters, of all pages of the list. */
export const exportAudit =
  (format: 'csv' | 'jsonl') =>
  async (request: ConsoleRequest): Promise<Reply> => {
    const { given } = await readAuditFilters(request);
    await sendAuditLog(request.parts, request.context, format, given);
    return 'sent';
  };
