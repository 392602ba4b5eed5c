import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { NO_APPLICATION } from '../../database/audit-schema.ts';
import { type AuditEvent, listAuditEvents } from '../../domain/audit/list-audit-events.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { AdminHandlers } from './admin-handlers.ts';

export function createAuditHandlers(pageTokens: PageTokens) {
  return {
    async listAuditEvents(fields, call) {
      const { rows, nextPageToken } = await listAuditEvents(call, pageTokens, fields);
      return { auditEvents: rows.map(toAuditEvent), nextPageToken };
    },
  } satisfies Partial<AdminHandlers>;
}

function toAuditEvent({ id, applicationId, occurredAt, ...event }: AuditEvent) {
  return {
    ...event,
    auditEventId: id,
    occurredAt: timestampFromDate(occurredAt),
    ...(applicationId !== NO_APPLICATION && { applicationId }),
  };
}
