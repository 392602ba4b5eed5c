/** The check-ins of an event as a download: CSV or JSON lines, newest first, read page by page as the client takes it. */
import type { Database } from '../../database/pool/database.ts';
import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import { listCheckIns } from '../../domain/events/list-check-ins.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import { headerOf } from '../../http/exchange.ts';
import type { PathHandler } from '../../http/http-context.ts';
import type { Admission } from '../admission.ts';
import { type CallLog, serveCall } from '../calls.ts';
import { refuseUnlessRead } from '../envelope.ts';
import { decodeSegment, readPairs } from '../rest/read-fields.ts';
import { unknownFields } from '../unknown-fields.ts';
import { BYTE_ORDER_MARK, CSV, type Exporter, JSON_LINES, toCsvLine } from './exporter.ts';

type CheckedIn = Awaited<ReturnType<typeof listCheckIns>>['rows'][number];

const PAGE_SIZE = 100;
const PATH = /^\/api\/events\/([^/]+)\/check-ins\.(csv|jsonl)$/;

export const CHECK_IN_EXPORTS = {
  csv: {
    type: CSV,
    filename: 'check-ins.csv',
    // Without the mark, Excel reads attendee IDs in the charset of its computer.
    head: () => BYTE_ORDER_MARK + toCsvLine(['attendeeId', 'checkedInAt']),
    toLine: ({ attendeeId, checkedInAt }: CheckedIn) => toCsvLine([attendeeId, checkedInAt.toISOString()]),
  },
  jsonl: {
    type: JSON_LINES,
    filename: 'check-ins.jsonl',
    head: () => '',
    toLine: ({ attendeeId, checkedInAt }: CheckedIn) => `${JSON.stringify({ attendeeId, checkedInAt })}\n`,
  },
} as const;

interface ExportParts extends CallLog {
  readonly admission: Admission;
  readonly apiKeys: ApiKeys;
  readonly clock: () => Date;
  readonly database: Database;
  readonly exporter: Exporter;
  readonly lookUps: Admission;
  readonly pageTokens: PageTokens;
}

/** Serves `check-ins.csv` and `check-ins.jsonl` of each event to the application of the event. */
export function createCheckInExport(parts: ExportParts): PathHandler {
  const { admission, apiKeys, clock, database, exporter, lookUps, pageTokens, requestTimeoutMs } = parts;
  return async (context) => {
    const [, segment, format] = PATH.exec(context.path) ?? [];
    if (segment === undefined || (format !== 'csv' && format !== 'jsonl')) return false;
    if (refuseUnlessRead(context)) return true;
    const route = { method: 'GET', path: `/api/events/:eventId/check-ins.${format}` };
    await serveCall(parts, context, { protocol: 'rest', route }, async (call) => {
      const { application } = await lookUps.run('', () => apiKeys.authenticate(headerOf(context, 'x-api-key')));
      call.outcome = { code: 'ok', applicationId: application.id, isAuthenticated: true };
      const unknown = readPairs(context.query).map(([name]) => name);
      if (unknown.length > 0) throw unknownFields(unknown);
      const eventId = decodeSegment(segment);
      const readPage = (pageToken: string) =>
        admission.run(application.id, () => {
          const run = database.within(performance.now() + requestTimeoutMs);
          const fields = { eventId, pageSize: PAGE_SIZE, pageToken };
          return listCheckIns({ application, run, now: clock() }, pageTokens, fields);
        });
      await exporter.send(context, { ...CHECK_IN_EXPORTS[format], readPage, owner: application.id });
    });
    return true;
  };
}
