import { and, eq, isNull, sql } from 'drizzle-orm';
import type { RowOf } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { emailAddress, identifier, optional, textOrEmpty, webUrl } from '../validation.ts';

/** What an application learns of a user. */
export interface Profile {
  readonly email: string;
  readonly name: string | null;
  readonly profileImage: string | null;
  /** Empty if the user has none. */
  readonly walletAddress: string;
}

export const userColumns = {
  id: users.id,
  email: users.email,
  name: users.name,
  profileImage: users.profileImage,
  walletAddress: users.walletAddress,
  createdAt: users.createdAt,
  deactivatedAt: users.deactivatedAt,
};

/** A user as operators see one. */
export type User = RowOf<typeof userColumns>;

/** Selects the user unless deleted. Placeholder: userId. */
export const isExistingUser = and(eq(users.id, sql.placeholder('userId')), isNull(users.deletedAt));

/** Selects users who can sign in. */
export const isActiveUser = and(isNull(users.deletedAt), isNull(users.deactivatedAt));

/** Selects users whose profile EraseUser has emptied. */
export const isErasedUser = sql`(${users.deletedAt} is not null and ${users.email} = '' and ${users.walletAddress} = '')`;

/** Picks the columns of a user from those of a CTE. */
export function pickUser<Columns extends Record<keyof User, unknown>>(columns: Columns) {
  const names = Object.keys(userColumns) as (keyof User)[];
  return Object.fromEntries(names.map((name) => [name, columns[name]])) as Pick<Columns, keyof User>;
}

export const profileRules = {
  email: emailAddress,
  name: optional(identifier),
  profileImage: optional(webUrl),
  walletAddress: textOrEmpty(identifier),
};
