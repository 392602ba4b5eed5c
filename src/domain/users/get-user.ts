import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { isExistingUser, type User, userColumns } from './user.ts';

const rules = { userId: uuid };

/** Returns a user. @throws ServiceError `User not found` */
export async function getUser({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const [user] = await run(selectUser, check(request, rules));
  if (!user) throw new ServiceError('USER_NOT_FOUND');
  return user;
}

const selectUser: Statement<User[]> = (db) =>
  db.select(userColumns).from(users).where(isExistingUser).prepare('select_user');
