import { columnsOf, p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { type User, userColumns } from './user.ts';

const rules = { userId: uuid };

/** Returns a user. @throws ServiceError `User not found` */
export async function getUser({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const [user] = await run(selectUser, check(request, rules));
  if (!user) throw new ServiceError('USER_NOT_FOUND');
  return user;
}

const selectUser = statement('select_user', userColumns)`
  select ${columnsOf(userColumns)} from users where id = ${p.uuid('userId')} and deleted_at is null`;
