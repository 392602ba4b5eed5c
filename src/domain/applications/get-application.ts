import type { Statement } from '../../database/database.ts';
import { applications } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { type ApplicationDetails, applicationColumns, isExistingApplication } from './application.ts';

const rules = { applicationId: uuid };

/** Returns an application. @throws ServiceError `Application not found`, also for a deleted one */
export async function getApplication(
  { run }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<ApplicationDetails> {
  const [application] = await run(selectApplication, check(request, rules));
  if (!application) throw new ServiceError('APPLICATION_NOT_FOUND');
  return application;
}

const selectApplication: Statement<ApplicationDetails[]> = (db) =>
  db.select(applicationColumns).from(applications).where(isExistingApplication).prepare('select_application');
