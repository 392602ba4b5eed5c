import { getTableColumns, sql } from 'drizzle-orm';
import { auditEvents } from '../../database/audit-schema.ts';
import { p } from '../../database/template.ts';
import { createList, selectPage } from '../pages/list.ts';
import { optional, uuid } from '../validation.ts';

export type AuditEvent = typeof auditEvents.$inferSelect;

const rules = { applicationId: optional(uuid) };

const page = {
  columns: getTableColumns(auditEvents),
  order: [auditEvents.occurredAt, auditEvents.id],
  // An application has few of all events, or most of them.
  isPlannedAnew: true,
} as const;

/** Returns a page of the audit log, of one application or of all. */
export const listAuditEvents = createList('select_audit_events', {
  ...page,
  name: 'audit-events',
  rules,
  find: ({ applicationId }) => (applicationId === null ? undefined : selectOfApplication),
});

const selectOfApplication = selectPage('select_audit_events_of_application', {
  ...page,
  where: sql`application_id = ${p.uuid('applicationId')}`,
});
