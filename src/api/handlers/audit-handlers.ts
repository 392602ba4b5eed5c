import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { NO_APPLICATION } from '../../database/audit-schema.ts';
import { type AuditEvent, listAuditEvents } from '../../domain/audit/list-audit-events.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { OpenHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

export function createAuditHandlers(pageTokens: PageTokens) {
  return {
    async listAuditEvents(fields, call) {
      const { rows, nextPageToken } = await listAuditEvents(call, pageTokens, fields);
      return { auditEvents: rows.map(toAuditEvent), nextPageToken };
    },
  } satisfies Partial<OpenHandlers<typeof AdminService>>;
}

function toAuditEvent({ id, applicationId, ...event }: AuditEvent) {
  return { ...toMessage(event), auditEventId: id, ...(applicationId !== NO_APPLICATION && { applicationId }) };
}
