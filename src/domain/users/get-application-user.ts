import { p, statement } from '../../database/sql/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { type ApplicationUser, applicationUserColumns, shownColumns } from './application-user.ts';
import { attributeParameter } from './attributes.ts';

const rules = { userId: uuid };

/** Returns a user who has signed in to the application. @throws ServiceError `User not found` */
export async function getApplicationUser(
  { application, run }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<ApplicationUser> {
  const { userId } = check(request, rules);
  const [user] = await run(selectUserOfApplication, {
    ...attributeParameter(application),
    applicationId: application.id,
    userId,
  });
  if (!user) throw new ServiceError('USER_NOT_FOUND');
  return user;
}

const selectUserOfApplication = statement('select_user_of_application', applicationUserColumns)`
  select ${shownColumns}, first_signed_in_at
  from application_users join users on users.id = user_id
  where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')} and deleted_at is null`;
