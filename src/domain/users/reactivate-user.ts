import type { Statement } from '../../database/database.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce } from '../webhooks/insert-message.ts';
import { type ChangedUser, changeUser } from './change-user.ts';
import type { User } from './user.ts';

const rules = { userId: uuid };

/** Lets a deactivated user sign in again. @throws ServiceError `User not found` */
export async function reactivateUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId } = check(request, rules);
  const [reactivated] = await call.run(markActive, { userId, now: call.now });
  if (!reactivated) throw new ServiceError('USER_NOT_FOUND');
  announce(call.onMessage, reactivated);
  return reactivated.user;
}

const markActive: Statement<ChangedUser[]> = (db) =>
  changeUser(db, { deactivatedAt: null }).prepare('mark_user_active');
