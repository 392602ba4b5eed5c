import { and, eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { applicationUsers } from '../../database/session-schema.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { type ApplicationUser, isOfApplication, selectApplicationUsers } from './application-user.ts';

const rules = { userId: uuid };

/** Returns a user who has signed in to the application. @throws ServiceError `User not found` */
export async function getApplicationUser(
  { application, run }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<ApplicationUser> {
  const { userId } = check(request, rules);
  const [user] = await run(selectUserOfApplication, { applicationId: application.id, userId });
  if (!user) throw new ServiceError('USER_NOT_FOUND');
  return user;
}

const selectUserOfApplication: Statement<ApplicationUser[]> = (db) =>
  selectApplicationUsers(db)
    .where(and(isOfApplication, eq(applicationUsers.userId, sql.placeholder('userId'))))
    .prepare('select_user_of_application');
