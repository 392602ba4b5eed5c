import { p, statement } from '../../database/template.ts';

/**
 * Deletes the identities of a user who is deleted. A deletion and a link that run at the same time do not see each other's
 * rows, so both run it afterwards.
 */
export const deleteIdentitiesOfDeleted = statement('delete_identities_of_deleted_user')`
  delete from user_identities d using users
  where users.id = ${p.uuid('userId')} and users.deleted_at is not null and d.user_id = users.id`;
