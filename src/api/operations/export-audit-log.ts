/** The audit log as a download: CSV or JSON lines, newest first, read page by page as the client takes it. */
import type { Database } from '../../database/pool/database.ts';
import { type AuditEvent, listAuditEvents, presentAuditEvent } from '../../domain/audit/list-audit-events.ts';
import { invalidField } from '../../domain/core/errors.ts';
import type { AdminKeys } from '../../domain/operators/admin-keys.ts';
import type { PageTokens } from '../../domain/pages/list.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { HttpRoute } from '../../http/route-table.ts';
import { type CallLog, callRoute } from '../calls.ts';
import { requireRight } from '../credentials.ts';
import { CSV, type Exporter, JSON_LINES, toCsvLine } from './exporter.ts';

const PAGE_SIZE = 100;
const FILTERS = ['applicationId', 'resource', 'actor', 'action', 'since', 'until'];

const FORMATS = {
  csv: { type: CSV, head: () => toCsvLine(COLUMNS), toLine: toCsv },
  jsonl: { type: JSON_LINES, head: () => '', toLine: toJson },
} as const;

interface ExportParts extends CallLog {
  readonly adminKeys: AdminKeys;
  readonly clock: () => Date;
  readonly database: Database;
  readonly exporter: Exporter;
  readonly pageTokens: PageTokens;
}

/** Returns the routes for admin keys with the right `read`. */
export function createAuditLogExports(parts: ExportParts): readonly HttpRoute[] {
  return (['csv', 'jsonl'] as const).map((format) =>
    callRoute(parts, 'GET', `/admin/audit-events.${format}`, async (call, context) => {
      requireRight(parts, context, ['read']);
      call.outcome = { code: 'ok', isAuthenticated: true };
      await sendAuditLog(parts, context, format, readFilters(context.query));
    }),
  );
}

/** Sends the events that match the filters. @throws ServiceError `Validation failed`, before anything is sent */
export function sendAuditLog(
  { clock, database, exporter, pageTokens, requestTimeoutMs }: Omit<ExportParts, 'adminKeys'>,
  context: HttpContext,
  format: keyof typeof FORMATS,
  filters: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const now = clock();
  const readPage = (pageToken: string) => {
    const run = database.within(performance.now() + requestTimeoutMs);
    return listAuditEvents({ run, now }, pageTokens, { ...filters, pageSize: PAGE_SIZE, pageToken });
  };
  return exporter.send(context, { ...FORMATS[format], filename: `audit-events.${format}`, readPage });
}

function readFilters(query: string): Record<string, string> {
  const parameters = [...new URLSearchParams(query)];
  for (const [index, [name]] of parameters.entries()) {
    if (!FILTERS.includes(name)) throw invalidField(name.slice(0, 64), 'is not a field of this request');
    if (parameters.findIndex(([other]) => other === name) < index) throw invalidField(name, 'must be given once');
  }
  return Object.fromEntries(parameters);
}

const COLUMNS = [
  'auditEventId',
  'occurredAt',
  'actorType',
  'actor',
  'action',
  'resource',
  'applicationId',
  'ipAddress',
  'requestId',
  'onBehalfBy',
  'note',
] as const;

function toJson(event: AuditEvent): string {
  return `${JSON.stringify(presentAuditEvent(event))}\n`;
}

function toCsv(event: AuditEvent): string {
  const fields: Readonly<Record<string, string>> = presentAuditEvent(event);
  return toCsvLine(COLUMNS.map((name) => fields[name] ?? ''));
}
