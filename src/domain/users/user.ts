import { sql } from 'drizzle-orm';
import type { RowOf } from '../../database/pool/database.ts';
import type { Attributes } from '../../database/schema/column-types.ts';
import { users } from '../../database/schema/schema.ts';
import { emailAddress, identifier, optional, text, textOrEmpty, webUrl } from '../core/validation.ts';
import { attributesRule } from './attributes.ts';

/** What an application learns of a user. */
export interface Profile {
  readonly email: string;
  readonly name: string | null;
  readonly profileImage: string | null;
  /** Empty if the user has none. */
  readonly walletAddress: string;
  /** Those of the user's attributes that the application sees. */
  readonly attributes?: Attributes | null;
}

const { id, email, name, profileImage, walletAddress, externalId, attributes, createdAt, deactivatedAt } = users;
const profileColumns = { email, name, profileImage, walletAddress, externalId, attributes };
export const userColumns = { id, ...profileColumns, createdAt, deactivatedAt };

/** A user, as operators see the user. */
export type User = RowOf<typeof userColumns>;

export const isActiveUser = sql`users.deleted_at is null and users.deactivated_at is null`;

/** Selects users whose profile EraseUser has emptied. */
export const isErasedUser = sql`users.deleted_at is not null and users.email = '' and users.wallet_address = ''`;

export const profileRules = {
  email: emailAddress,
  name: optional(identifier),
  profileImage: optional(webUrl),
  walletAddress: textOrEmpty(identifier),
  externalId: optional(text({ max: 255 })),
  attributes: attributesRule,
};
