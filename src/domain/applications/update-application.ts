import { and, eq, notExists, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';
import type { Statement } from '../../database/database.ts';
import { applications } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { changeParameters, differ, setChanges } from '../changes.ts';
import { ServiceError } from '../errors.ts';
import { boolean, change, check, integer, optional, type Unchecked, uuid } from '../validation.ts';
import { type ApplicationDetails, applicationColumns, applicationRules, isExistingApplication } from './application.ts';

const changeRules = {
  name: change(applicationRules.name),
  redirectUris: change(applicationRules.redirectUris),
  allowSignUp: change(boolean),
  askName: change(boolean),
  sessionMaxAgeSeconds: change(optional(integer({ min: 900, max: 31_536_000 }))),
};
const rules = { applicationId: uuid, ...changeRules };

/** Changes an application and returns it. @throws ServiceError `Application not found` */
export async function updateApplication(
  { run }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<ApplicationDetails> {
  const { applicationId, ...changes } = check(request, rules);
  const [updated] = await run(updateChanged, { applicationId, ...changeParameters(changes) });
  if (!updated) throw new ServiceError('APPLICATION_NOT_FOUND');
  return updated;
}

const updateChanged: Statement<ApplicationDetails[]> = (db) => {
  const before = db
    .$with('before')
    .as(db.select(applicationColumns).from(applications).where(isExistingApplication).for('no key update'));
  const changes = setChanges(applications, Object.keys(changeRules));
  const updated = db.$with('updated').as(
    db
      .update(applications)
      .set(changes)
      .from(before)
      .where(and(eq(applications.id, before.id), differ(applications, changes)))
      .returning(applicationColumns),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`updated` });
  const unchanged = db
    .select()
    .from(before)
    .where(notExists(db.select({ one: sql`1` }).from(updated)));
  const application = unionAll(db.select().from(updated), unchanged).as('result');
  return db.with(before, updated, audit).select().from(application).prepare('update_application');
};
