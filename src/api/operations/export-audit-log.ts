/** The audit log as a download: CSV or JSON lines, newest first, read page by page as the client takes it. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Database } from '../../database/database.ts';
import { type AuditEvent, listAuditEvents, presentAuditEvent } from '../../domain/audit/list-audit-events.ts';
import { invalidField, ServiceError } from '../../domain/errors.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { HttpContext, PathHandler } from '../../http/http-context.ts';
import { toCallError } from '../call-errors.ts';
import type { CallOutcome } from '../call-info.ts';
import { beginCall, type CallLog } from '../call-log.ts';
import { type Credentials, requireRight } from '../credentials.ts';
import { sendFailure } from '../envelope.ts';
import { sendServiceError } from '../rest/rest.ts';

/** Exports at a time per process. Each holds a page in memory. */
const MAX_EXPORTS = 2;
/** A client that takes nothing for so long is gone. */
const STALL_MS = 60_000;
const PAGE_SIZE = 100;
const FILTERS = ['applicationId', 'resource', 'actor', 'action', 'since', 'until'];

const FORMATS = {
  '/admin/audit-events.csv': { type: 'text/csv; charset=utf-8', head: () => toCsvLine(COLUMNS), toLine: toCsv },
  '/admin/audit-events.jsonl': { type: 'application/jsonl', head: () => '', toLine: toJson },
} as const;

interface ExportParts extends CallLog, Pick<Credentials, 'adminKeys'> {
  readonly clock: () => Date;
  readonly closing: AbortSignal;
  readonly database: Database;
  readonly pageTokens: PageTokens;
  readonly requestTimeoutMs: number;
}

/** Serves `/admin/audit-events.csv` and `.jsonl` to admin keys with the right `read`. */
export function createAuditLogExport(parts: ExportParts): PathHandler {
  let exports = 0;
  return async (context) => {
    const path = Object.keys(FORMATS).find((each) => each === context.path) as keyof typeof FORMATS | undefined;
    if (!path) return false;
    if (context.request.method !== 'GET') {
      sendFailure(context, 'METHOD_NOT_ALLOWED', { allow: 'GET' });
      return true;
    }
    let outcome: CallOutcome = { code: 'ok' };
    const route = { method: 'GET', path };
    const { requestTimeoutMs } = parts;
    const newCall = { name: `GET ${path}`, protocol: 'rest', route, requestTimeoutMs } as const;
    const call = beginCall(parts, context, newCall, () => outcome);
    exports++;
    try {
      requireRight(parts, context, ['read']);
      outcome = { ...outcome, isAuthenticated: true };
      if (exports > MAX_EXPORTS) throw new ServiceError('SERVICE_UNAVAILABLE');
      await send(parts, context, path);
    } catch (cause) {
      // The client sees that the answer is cut off.
      if (context.response.headersSent) context.response.destroy();
      const error = toCallError(cause, call, parts.logger);
      if (!(error instanceof ServiceError)) throw error;
      outcome = { ...outcome, code: error.code, reason: error.reason, detail: error.detail };
      if (!context.response.headersSent) sendServiceError(context, error);
    } finally {
      exports--;
    }
    return true;
  };
}

async function send(
  { clock, closing, database, pageTokens, requestTimeoutMs }: ExportParts,
  { commonHeaders, query, response }: HttpContext,
  path: keyof typeof FORMATS,
): Promise<void> {
  const { type, head, toLine } = FORMATS[path];
  const filters = readFilters(query);
  const now = clock();
  const readPage = (pageToken: string) => {
    const run = database.within(performance.now() + requestTimeoutMs);
    return listAuditEvents({ run, now }, pageTokens, { ...filters, pageSize: PAGE_SIZE, pageToken });
  };
  // Read before the headers are sent, so that wrong filters get an error.
  const first = await readPage('');
  const stalled = new AbortController();
  async function* lines() {
    yield head();
    for (let page = first; ; page = await readPage(page.nextPageToken)) {
      const timer = setTimeout(() => stalled.abort(), STALL_MS);
      yield page.rows.map(toLine).join('');
      clearTimeout(timer);
      if (page.nextPageToken === '') return;
    }
  }
  const headers = {
    ...commonHeaders,
    'content-type': type,
    'cache-control': 'no-store',
    'content-disposition': `attachment; filename="${path.replace('/admin/', '')}"`,
  };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const signal = AbortSignal.any([closing, stalled.signal]);
  await pipeline(Readable.from(lines(), { objectMode: false, highWaterMark: 1 }), response, { signal });
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
] as const;

function toJson(event: AuditEvent): string {
  return `${JSON.stringify(presentAuditEvent(event))}\n`;
}

function toCsv(event: AuditEvent): string {
  const fields: Readonly<Record<string, string>> = presentAuditEvent(event);
  return toCsvLine(COLUMNS.map((name) => fields[name] ?? ''));
}

/** RFC 4180. A spreadsheet would run a text that begins like a formula, so an apostrophe stands before it. */
function toCsvLine(values: readonly string[]): string {
  const cells = values.map((value) => `"${(/^[=+\-@\t\r]/.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`);
  return `${cells.join(',')}\r\n`;
}
