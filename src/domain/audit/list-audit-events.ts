import { and, eq, type SQL, sql } from 'drizzle-orm';
import { auditEvents } from '../../database/audit-schema.ts';
import type { Db, Statement } from '../../database/database.ts';
import type { Call } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageLimit, pageRules, readPage, startsAfter } from '../pages/read-page.ts';
import { check, optional, type Unchecked, uuid } from '../validation.ts';

const rules = { applicationId: optional(uuid), ...pageRules };

export type AuditEvent = typeof auditEvents.$inferSelect;

/** Returns a page of the audit log, of one application or of all. */
export async function listAuditEvents(
  { run }: Call,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<Page<AuditEvent>> {
  const { applicationId, ...page } = check(request, rules);
  const statement = applicationId === null ? selectAuditEvents : selectAuditEventsOfApplication;
  return readPage(
    pageTokens,
    ['audit-events', applicationId],
    page,
    (parameters) => run(statement, { applicationId, ...parameters }),
    ({ occurredAt, id }) => ({ at: occurredAt, id }),
  );
}

const selectAuditEvents: Statement<AuditEvent[]> = (db) => pageOf(db).prepare('select_audit_events');

const selectAuditEventsOfApplication: Statement<AuditEvent[]> = (db) =>
  pageOf(db, eq(auditEvents.applicationId, sql.placeholder('applicationId'))).prepare(
    'select_audit_events_of_application',
  );

/** Not with `selectPage`: Postgres plans this for the application at hand, which has few of all events or most of them. */
function pageOf(db: Db, condition?: SQL) {
  return db
    .select()
    .from(auditEvents)
    .where(and(condition, startsAfter(auditEvents.occurredAt, auditEvents.id)))
    .orderBy(...newestFirst(auditEvents.occurredAt, auditEvents.id))
    .limit(pageLimit);
}
