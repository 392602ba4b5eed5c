/** The audit log: who changed what, when, and from where. */
import { sendAuditLog } from '../../../api/operations/export-audit-log.ts';
import { isFrequentAction } from '../../../database/schema/audit-schema.ts';
import { listAuditEvents } from '../../../domain/audit/list-audit-events.ts';
import { html } from '../../../http/html.ts';
import { withoutDirectionControls } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { ACTION_TEXTS } from '../parts/action-texts.ts';
import { renderAuditList } from '../parts/audit-list.ts';
import {
  type Filter,
  JOINED_PAGE_SIZE,
  pageFields,
  readFilter,
  readInstant,
  renderFilters,
  renderPager,
  withFilters,
} from '../parts/list.ts';
import type { ConsolePage, Reply } from '../route.ts';

/** The actions that the index by action has. Two may have one text: the log has each under a name of its own. */
const ACTIONS = [...ACTION_TEXTS]
  .filter(([action]) => !isFrequentAction(action))
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
    { name: 'actor', label: 'Who', placeholder: 'ID of a user or key' },
    { name: 'action', label: 'What', options },
    { name: 'resource', label: 'On what', placeholder: 'Any ID' },
    { name: 'application', label: 'Application', placeholder: 'ID of an application' },
    { name: 'since', label: 'From (UTC)', isInstant: true },
    { name: 'until', label: 'Until (UTC)', isInstant: true },
  ];
}

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

export async function showAudit(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, operator, parts, query } = request;
  const given = { ...readFilters(query), ...pageFields(query, JOINED_PAGE_SIZE) };
  const { rows, nextPageToken } = await listAuditEvents(call, parts.pageTokens, given);
  const link = (format: string) =>
    html`<a href="${withFilters(`/audit.${format}`, query)}" download>${format === 'csv' ? 'CSV' : 'JSON lines'}</a>`;
  return {
    title: 'Audit log',
    section: 'audit',
    body: html`<div class="bar"><h1 id="audit">Audit log</h1><p class="small"><a href="/audit?actor=${operator.userId}">What you did</a> · Download all as ${link('csv')} or ${link('jsonl')}</p></div>
${renderFilters(query, filtersOf(query))}
${await renderAuditList(request, rows, { level: 2, empty: 'No events match.' })}
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
