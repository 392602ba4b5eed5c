import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { applications, instantPlaceholder } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { cutoffAt, endApplicationSessions } from '../sessions/cutoffs.ts';
import { check, type Unchecked, uuid } from '../validation.ts';

const rules = { applicationId: uuid };

/** Soft-deletes an application: its keys stop working and its sessions end. @throws ServiceError `Application not found` */
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
      .where(and(eq(applications.id, sql.placeholder('applicationId')), isNull(applications.deletedAt)))
      .returning({ id: applications.id }),
  );
  const cutoff = endApplicationSessions(sql`${deleted}`);
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`deleted` });
  return db
    .with(deleted, audit, db.$with('cutoff', {}).as(cutoff))
    .select({ id: deleted.id })
    .from(deleted)
    .prepare('mark_application_deleted');
};
