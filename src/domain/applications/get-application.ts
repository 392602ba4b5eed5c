import { columnsOf, p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { type ApplicationDetails, applicationColumns } from './application.ts';

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

const selectApplication = statement('select_application', applicationColumns)`
  select ${columnsOf(applicationColumns)} from applications
  where id = ${p.uuid('applicationId')} and deleted_at is null`;
