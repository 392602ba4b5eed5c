import { and, eq, exists, isNotNull, isNull, or, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { type Db, matches } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { addedUsers, applicationUsers } from '../../database/session-schema.ts';
import { type Profile, userColumns } from './user.ts';

/** A user as an application sees one that has signed in to it. */
export interface ApplicationUser extends Profile {
  readonly id: string;
  /** False for a deactivated user. */
  readonly isActive: boolean;
  readonly firstSignedInAt: Date;
}

const { createdAt: _, deactivatedAt, ...profileColumns } = userColumns;
const isActive = sql<boolean>`${deactivatedAt} is null`.as('is_active');

/** Placeholder: applicationId. */
export const isOfApplication = matches(applicationUsers, 'applicationId');

/**
 * Returns whether the user has signed in to the application, or an operator has added the user. The application must
 * not learn of others. Placeholder: applicationId.
 */
export function isUserOfApplication(db: Db, userId: Placeholder): SQL | undefined {
  const rowsOf = (table: typeof applicationUsers | typeof addedUsers) =>
    db
      .select({ one: sql`1` })
      .from(table)
      .where(and(matches(table, 'applicationId'), eq(table.userId, userId)));
  return or(exists(rowsOf(applicationUsers)), exists(rowsOf(addedUsers)));
}

/** Selects users of the application. The caller's condition must have `isOfApplication`. */
export function selectApplicationUsers(db: Db) {
  return db
    .select({ ...profileColumns, isActive, firstSignedInAt: applicationUsers.firstSignedInAt })
    .from(applicationUsers)
    .innerJoin(users, and(eq(users.id, applicationUsers.userId), isNull(users.deletedAt)));
}

/** Selects the user of the application that the filter finds. Placeholder: applicationId. */
export function selectApplicationUserBy(db: Db, filter: SQL) {
  const { firstSignedInAt } = applicationUsers;
  const signedIn = db
    .select({ firstSignedInAt })
    .from(applicationUsers)
    .where(and(isOfApplication, eq(applicationUsers.userId, users.id)));
  // Not a join: Postgres might begin it with all users of the application.
  const found = db
    .select({
      ...profileColumns,
      isActive,
      firstSignedInAt: sql<Date>`(${signedIn})`.mapWith(firstSignedInAt).as('first_signed_in_at'),
    })
    .from(users)
    .where(and(isNull(users.deletedAt), filter))
    .limit(1)
    .as('found');
  return db.select().from(found).where(isNotNull(found.firstSignedInAt));
}
