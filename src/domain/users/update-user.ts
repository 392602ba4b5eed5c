import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { isUniqueViolation } from '../../database/errors.ts';
import { users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { changeParameters, setChanges } from '../changes.ts';
import { ServiceError } from '../errors.ts';
import { rule } from '../rule.ts';
import { change, check, type Unchecked, uuid } from '../validation.ts';
import { profileRules, type User, userColumns } from './user.ts';

const changeable = {
  email: users.email,
  name: users.name,
  profileImage: users.profileImage,
  walletAddress: users.walletAddress,
};
/** Null clears it. */
const walletAddress = rule(profileRules.walletAddress.schema, (value) => profileRules.walletAddress(value ?? ''), {
  isNullable: true,
});
const rules = {
  userId: uuid,
  email: change(profileRules.email),
  name: change(profileRules.name),
  profileImage: change(profileRules.profileImage),
  walletAddress: change(walletAddress),
};

/** The fields that an update may name. */
export const USER_CHANGES = ['email', 'name', 'profileImage', 'walletAddress'] as const;

/** Changes a user's profile and returns the user. @throws ServiceError `User not found`, `User already exists` */
export async function updateUser({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId, ...changes } = check(request, rules);
  const [updated] = await run(updateChanged, { userId, ...changeParameters(changes) }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? new ServiceError('USER_ALREADY_EXISTS') : error;
  });
  if (!updated) throw new ServiceError('USER_NOT_FOUND');
  return updated;
}

const updateChanged: Statement<User[]> = (db) => {
  const updated = db.$with('updated').as(
    db
      .update(users)
      .set(setChanges(changeable))
      .where(and(eq(users.id, sql.placeholder('userId')), isNull(users.deletedAt)))
      .returning(userColumns),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`updated`, applicationId: noApplication });
  return db.with(updated, audit).select().from(updated).prepare('update_user');
};
