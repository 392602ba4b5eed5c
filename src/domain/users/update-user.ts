import type { Statement } from '../../database/database.ts';
import { isUniqueViolation } from '../../database/errors.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { changeParameters, setChanges } from '../changes.ts';
import { ServiceError } from '../errors.ts';
import { rule } from '../rule.ts';
import { change, check, type Unchecked, uuid } from '../validation.ts';
import { announce } from '../webhooks/insert-message.ts';
import { type ChangedProfile, changeUser } from './change-user.ts';
import { profileRules, type User } from './user.ts';

/** Null clears it. */
const walletAddress = rule(profileRules.walletAddress.schema, (value) => profileRules.walletAddress(value ?? ''), {
  isNullable: true,
});
const changeRules = {
  email: change(profileRules.email),
  name: change(profileRules.name),
  profileImage: change(profileRules.profileImage),
  walletAddress: change(walletAddress),
};
const rules = { userId: uuid, ...changeRules };

/** Changes a user's profile and returns the user. @throws ServiceError `User not found`, `User already exists` */
export async function updateUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId, ...changes } = check(request, rules);
  const parameters = { userId, now: call.now, ...changeParameters(changes) };
  const [updated] = await call.run(updateChanged, parameters).catch((error: unknown) => {
    throw isUniqueViolation(error) ? new ServiceError('USER_ALREADY_EXISTS') : error;
  });
  if (!updated) throw new ServiceError('USER_NOT_FOUND');
  if (updated.isTaken) throw new ServiceError('USER_ALREADY_EXISTS');
  announce(call.onMessage, updated);
  return updated.user;
}

const updateChanged: Statement<ChangedProfile[]> = (db) =>
  changeUser(db, setChanges(users, Object.keys(changeRules))).prepare('update_user');
