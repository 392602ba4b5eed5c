import { sql } from 'drizzle-orm';
import { users } from '../../../database/schema/schema.ts';
import { addedUsers } from '../../../database/schema/session-schema.ts';
import { nullable, p, type RowOfType, t } from '../../../database/sql/template.ts';
import { createList, ofApplication } from '../../../domain/pages/list.ts';

const columns = {
  id: addedUsers.userId,
  email: users.email,
  name: users.name,
  addedAt: addedUsers.addedAt,
  /** Whether an open invitation has let the user in. */
  isInvited: t.boolean,
  lastSignedInAt: nullable(t.instant),
};

/** A user who was let in to an application by name. */
export type AddedUser = RowOfType<typeof columns>;

/** Returns a page of the users who were let in by name, the latest first. */
export const listAddedUsers = createList('select_added_users', {
  name: 'added users',
  of: ofApplication,
  columns,
  select: sql`users.id, email, name, added_at,
    (
      select true from invitations v
      where v.application_id = ${p.uuid('applicationId')} and v.user_id = users.id and v.added_user and v.accepted_at is null
    ) is not null as is_invited,
    (
      select s.last_signed_in_at from application_users s
      where s.application_id = ${p.uuid('applicationId')} and s.user_id = users.id
    ) as last_signed_in_at`,
  order: [addedUsers.addedAt, addedUsers.userId],
  join: sql`join users on users.id = user_id and deleted_at is null`,
  where: sql`application_id = ${p.uuid('applicationId')}`,
});
