import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { applicationUsers } from '../../database/session-schema.ts';
import type { Profile } from './profile.ts';
import { userColumns } from './user.ts';

/** A user as an application sees one that has signed in to it. */
export interface ApplicationUser extends Profile {
  readonly id: string;
  /** False for a deactivated user. */
  readonly isActive: boolean;
  readonly firstSignedInAt: Date;
}

/** Placeholder: applicationId. */
export const isOfApplication = eq(applicationUsers.applicationId, sql.placeholder('applicationId'));

/** Selects users of the application. The caller's condition must have `isOfApplication`. */
export function selectApplicationUsers(db: Db) {
  return db
    .select(toColumns(users))
    .from(applicationUsers)
    .innerJoin(users, and(eq(users.id, applicationUsers.userId), isNull(users.deletedAt)));
}

/** Selects the user of the application that the filter finds. Placeholder: applicationId. */
export function selectApplicationUserBy(db: Db, filter: SQL) {
  // The limit keeps Postgres from reading the application's users and filtering them.
  const found = db
    .select(userColumns)
    .from(users)
    .where(and(isNull(users.deletedAt), filter))
    .limit(1)
    .as('found');
  return db
    .select(toColumns(found))
    .from(found)
    .innerJoin(applicationUsers, and(isOfApplication, eq(applicationUsers.userId, found.id)));
}

function toColumns({
  id,
  email,
  name,
  profileImage,
  walletAddress,
  deactivatedAt,
}: Pick<typeof users, keyof typeof userColumns>) {
  return {
    ...{ id, email, name, profileImage, walletAddress },
    isActive: sql<boolean>`${deactivatedAt} is null`,
    firstSignedInAt: applicationUsers.firstSignedInAt,
  };
}
