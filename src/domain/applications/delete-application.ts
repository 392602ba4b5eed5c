import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { applications, instantPlaceholder } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { cutoffAt, endApplicationSessions } from '../sessions/cutoffs.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { isExistingApplication } from './application.ts';

const rules = { applicationId: uuid };

/**
 * Soft-deletes an application: its keys stop working, its sessions end, and nothing more is sent to its webhooks.
 *
 * @throws ServiceError `Application not found`
 */
export async function deleteApplication({ run, now }: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { applicationId } = check(request, rules);
  const [deleted] = await run(markDeleted, { applicationId, ...cutoffAt(now) });
  if (!deleted) throw new ServiceError('APPLICATION_NOT_FOUND');
}

const markDeleted: Statement<{ id: string }[]> = (db) => {
  const deleted = db.$with('deleted').as(
    db
      .update(applications)
      .set({ deletedAt: instantPlaceholder('now') })
      .where(isExistingApplication)
      .returning({ id: applications.id }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`deleted` });
  return db
    .with(deleted, audit, ...endApplicationSessions(db, sql`${deleted}`))
    .select({ id: deleted.id })
    .from(deleted)
    .prepare('mark_application_deleted');
};
