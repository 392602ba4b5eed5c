import { type SQL, sql } from 'drizzle-orm';
import type { Attributes } from '../../database/schema/column-types.ts';
import { users } from '../../database/schema/schema.ts';
import { applicationUsers } from '../../database/schema/session-schema.ts';
import { nullable, p, type RowOfType, t } from '../../database/sql/template.ts';
import { shownGroups } from '../access/has-access.ts';
import { shownAttributes } from './attributes.ts';

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
  attributes: nullable(t.jsonb<Attributes>()),
  groups: t.json<readonly string[]>(),
};

/** A user who has signed in to an application, as the application sees the user. */
export type ApplicationUser = RowOfType<typeof applicationUserColumns>;

/** The columns of `users` that an application sees, and the user's groups. Parameters: applicationId, `attributeParameter`. */
export const shownColumns = sql`
  users.id, email, name, profile_image, wallet_address, deactivated_at is null as is_active,
  ${shownAttributes(sql`users.attributes`)} as attributes,
  ${shownGroups(p.uuid('applicationId'), sql`users.id`)} as groups`;

/**
 * Returns the condition that the user has signed in to the application, or that an operator has added the user. An
 * application must not learn whether other users exist. Parameter: applicationId.
 */
export function isUserOfApplication(userId: SQL): SQL {
  return sql`(
    exists (select 1 from application_users where application_id = ${p.uuid('applicationId')} and user_id = ${userId})
    or exists (select 1 from added_users where application_id = ${p.uuid('applicationId')} and user_id = ${userId}))`;
}
