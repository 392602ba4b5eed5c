import { and, eq, exists, or, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { type Db, matches } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { addedUsers, applicationUsers } from '../../database/session-schema.ts';
import { type RowOfType, t } from '../../database/template.ts';

const { email, name, profileImage, walletAddress } = users;

export const applicationUserColumns = {
  id: applicationUsers.userId,
  email,
  name,
  profileImage,
  walletAddress,
  /** False for a deactivated user. */
  isActive: t.boolean,
  firstSignedInAt: applicationUsers.firstSignedInAt,
};

/** A user as an application sees one that has signed in to it. */
export type ApplicationUser = RowOfType<typeof applicationUserColumns>;

/** The columns of `users` that an application sees. */
export const shownColumns = sql`
  users.id, email, name, profile_image, wallet_address, deactivated_at is null as is_active`;

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
