import { p, statement } from '../../database/sql/template.ts';

/**
 * Deletes the identities of a deleted user. The deletion of a user and the linking of an identity do not see each
 * other's rows if they run concurrently, so both run this statement afterwards.
 */
export const deleteIdentitiesOfDeleted = statement('delete_identities_of_deleted_user')`
  delete from user_identities d using users
  where users.id = ${p.uuid('userId')} and users.deleted_at is not null and d.user_id = users.id`;
