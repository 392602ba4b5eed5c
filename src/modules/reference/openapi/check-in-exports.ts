import { CHECK_IN_EXPORTS } from '../../../api/operations/export-check-ins.ts';
import type { JsonSchema } from './json-schema.ts';
import { describeFailureResponse } from './operations.ts';

const REASONS = {
  400: 'VALIDATION_FAILED',
  401: 'INVALID_API_KEY',
  404: 'EVENT_NOT_FOUND',
  500: 'Failure',
  503: 'SERVICE_UNAVAILABLE, also while too many downloads run',
};

const FORMATS = {
  csv: ['CSV', 'CSV in UTF-8 with a byte order mark. An apostrophe precedes a text that begins a formula.'],
  jsonl: ['JSON lines', 'An object per line.'],
} as const;

/** Describes the downloads, which are no RPCs. `eventId` is the parameter of the path. */
export function describeCheckInExports(eventId: JsonSchema): Record<string, JsonSchema> {
  const failures = Object.entries(REASONS).map(([status, reasons]) => [status, describeFailureResponse(reasons)]);
  const describeExport = (format: keyof typeof FORMATS) => {
    const [name, description] = FORMATS[format];
    return {
      operationId: `EventService_ExportCheckIns_${format}`,
      tags: ['EventService'],
      summary: `Downloads all check-ins of an event as ${name}`,
      description: `Newest first, with \`attendeeId\` and \`checkedInAt\`. ${description}`,
      parameters: [eventId],
      responses: {
        200: { description, content: { [CHECK_IN_EXPORTS[format].type]: { schema: { type: 'string' } } } },
        ...Object.fromEntries(failures),
        default: describeFailureResponse('Failure'),
      },
    };
  };
  return Object.fromEntries(
    (['csv', 'jsonl'] as const).map((format) => [
      `/api/events/{eventId}/check-ins.${format}`,
      { get: describeExport(format) },
    ]),
  );
}
