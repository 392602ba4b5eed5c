import { users } from '../../database/schema.ts';
import { emailAddress, identifier, optional, textOrEmpty, webUrl } from '../validation.ts';
import type { Profile } from './profile.ts';

/** A user as operators see one. */
export interface User extends Profile {
  readonly id: string;
  readonly createdAt: Date;
  /** Null for a user who can sign in. */
  readonly deactivatedAt: Date | null;
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

/** Picks the columns of a user from those of a CTE. */
export function pickUser<Columns extends Record<keyof User, unknown>>(columns: Columns) {
  const { id, email, name, profileImage, walletAddress, createdAt, deactivatedAt } = columns;
  return { id, email, name, profileImage, walletAddress, createdAt, deactivatedAt } as Pick<Columns, keyof User>;
}

export const profileRules = {
  email: emailAddress,
  name: optional(identifier),
  profileImage: optional(webUrl),
  walletAddress: textOrEmpty(identifier),
};
