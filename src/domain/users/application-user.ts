import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Db } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { applicationUsers } from '../../database/session-schema.ts';
import type { Profile } from './profile.ts';

/** A user as an application sees one that has signed in to it. */
export interface ApplicationUser extends Profile {
  readonly id: string;
  /** False for a deactivated user. */
  readonly isActive: boolean;
  readonly firstSignedInAt: Date;
}

const columns = {
  id: users.id,
  email: users.email,
  name: users.name,
  profileImage: users.profileImage,
  walletAddress: users.walletAddress,
  isActive: sql<boolean>`${users.deactivatedAt} is null`,
  firstSignedInAt: applicationUsers.firstSignedInAt,
};

/** Selects users of the application. The caller's condition must have `isOfApplication`. */
export function selectApplicationUsers(db: Db) {
  return db
    .select(columns)
    .from(applicationUsers)
    .innerJoin(users, and(eq(users.id, applicationUsers.userId), isNull(users.deletedAt)));
}

/** Placeholder: applicationId. */
export const isOfApplication = eq(applicationUsers.applicationId, sql.placeholder('applicationId'));
