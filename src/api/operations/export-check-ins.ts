/** The check-ins of an event as a download: CSV or JSON lines, newest first, read page by page as the client takes it. */
import type { Database } from '../../database/pool/database.ts';
import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import { listCheckIns } from '../../domain/events/list-check-ins.ts';
import type { PageTokens } from '../../domain/pages/list.ts';
import { headerOf } from '../../http/exchange.ts';
import type { HttpRoute } from '../../http/route-table.ts';
import type { Admission } from '../admission.ts';
import { type CallLog, callRoute } from '../calls.ts';
import { decodeSegment, readPairs } from '../rest/read-fields.ts';
import { unknownFields } from '../unknown-fields.ts';
import { BYTE_ORDER_MARK, CSV, type Exporter, JSON_LINES, toCsvLine } from './exporter.ts';

type CheckedIn = Awaited<ReturnType<typeof listCheckIns>>['rows'][number];

const PAGE_SIZE = 100;

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

/** Returns the routes for the application of the event. */
export function createCheckInExports(parts: ExportParts): readonly HttpRoute[] {
  const { admission, apiKeys, clock, database, exporter, lookUps, pageTokens, requestTimeoutMs } = parts;
  return (['csv', 'jsonl'] as const).map((format) =>
    callRoute(parts, 'GET', `/api/events/:eventId/check-ins.${format}`, async (call, context, parameters) => {
      const { application } = await lookUps.run('', () => apiKeys.authenticate(headerOf(context, 'x-api-key')));
      call.outcome = { code: 'ok', applicationId: application.id, isAuthenticated: true };
      const unknown = readPairs(context.query).map(([name]) => name);
      if (unknown.length > 0) throw unknownFields(unknown);
      const eventId = decodeSegment(parameters.eventId ?? '');
      const readPage = (pageToken: string) =>
        admission.run(application.id, () => {
          const run = database.within(performance.now() + requestTimeoutMs);
          const fields = { eventId, pageSize: PAGE_SIZE, pageToken };
          return listCheckIns({ application, run, now: clock() }, pageTokens, fields);
        });
      await exporter.send(context, { ...CHECK_IN_EXPORTS[format], readPage, owner: application.id });
    }),
  );
}
