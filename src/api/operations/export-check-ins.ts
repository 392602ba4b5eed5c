/** The check-ins of an event as a download: CSV or JSON lines, newest first, read page by page as the client takes it. */
import type { Database } from '../../database/pool/database.ts';
import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import { listCheckInsToDownload } from '../../domain/events/list-check-ins.ts';
import type { AdminKeys } from '../../domain/operators/admin-keys.ts';
import type { PageTokens } from '../../domain/pages/list.ts';
import type { HttpRoute } from '../../http/route-table.ts';
import type { Admission } from '../admission.ts';
import { type CallLog, callRoute } from '../calls.ts';
import { requireApplication } from '../credentials.ts';
import { decodeSegment, readPairs } from '../rest/read-fields.ts';
import { unknownFields } from '../unknown-fields.ts';
import { BYTE_ORDER_MARK, CSV, type Exporter, JSON_LINES, toCsvLine } from './exporter.ts';

type CheckedIn = Awaited<ReturnType<typeof listCheckInsToDownload>>['rows'][number];

const PAGE_SIZE = 100;

const COLUMNS = ['attendeeId', 'checkedInAt', 'label', 'gate', 'occurredAt', 'reason'] as const;

const toText = (value: Date | string | null) => (value instanceof Date ? value.toISOString() : (value ?? ''));

export const CHECK_IN_EXPORTS = {
  csv: {
    type: CSV,
    filename: 'check-ins.csv',
    // Without the mark, Excel reads attendee IDs in the charset of its computer.
    head: () => BYTE_ORDER_MARK + toCsvLine(COLUMNS),
    toLine: (row: CheckedIn) => toCsvLine(COLUMNS.map((name) => toText(row[name]))),
  },
  jsonl: {
    type: JSON_LINES,
    filename: 'check-ins.jsonl',
    head: () => '',
    toLine: (row: CheckedIn) => `${JSON.stringify(row, [...COLUMNS])}\n`,
  },
} as const;

interface ExportParts extends CallLog {
  readonly admission: Admission;
  readonly adminKeys: AdminKeys;
  readonly apiKeys: ApiKeys;
  readonly clock: () => Date;
  readonly database: Database;
  readonly exporter: Exporter;
  readonly lookUps: Admission;
  readonly pageTokens: PageTokens;
}

/** Returns the routes for the application of the event. */
export function createCheckInExports(parts: ExportParts): readonly HttpRoute[] {
  const { admission, clock, database, exporter, lookUps, pageTokens, requestTimeoutMs } = parts;
  return (['csv', 'jsonl'] as const).map((format) =>
    callRoute(parts, 'GET', `/api/events/:eventId/check-ins.${format}`, async (call, context, parameters) => {
      const { application } = await lookUps.run('', () => requireApplication(parts, context));
      call.outcome = { code: 'ok', applicationId: application.id, isAuthenticated: true };
      const unknown = readPairs(context.query).map(([name]) => name);
      if (unknown.length > 0) throw unknownFields(unknown);
      const eventId = decodeSegment(parameters.eventId ?? '');
      const readPage = (pageToken: string) =>
        admission.run(application.id, () => {
          const run = database.within(performance.now() + requestTimeoutMs);
          const fields = { eventId, pageSize: PAGE_SIZE, pageToken };
          return listCheckInsToDownload({ application, run, now: clock() }, pageTokens, fields);
        });
      await exporter.send(context, { ...CHECK_IN_EXPORTS[format], readPage, owner: application.id });
    }),
  );
}
