import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { applications } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { changeParameters, setChanges } from '../changes.ts';
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
  const updated = db.$with('updated').as(
    db
      .update(applications)
      .set(setChanges(applications, Object.keys(changeRules)))
      .where(isExistingApplication)
      .returning(applicationColumns),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`updated` });
  return db.with(updated, audit).select().from(updated).prepare('update_application');
};
