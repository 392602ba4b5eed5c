import { sql } from 'drizzle-orm';
import { applications } from '../../database/schema/schema.ts';
import { nullable, p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { notExpired } from '../access/has-access.ts';
import { labelOf } from '../core/application-label.ts';
import type { Call } from '../core/call.ts';
import { ownApplicationIds } from '../core/own-applications.ts';

/** How many applications are listed. */
export const MAX_LISTED_ACCESS = 100;

const columns = {
  id: applications.id,
  name: applications.name,
  initiateLoginUri: applications.initiateLoginUri,
  isRestricted: t.boolean,
  lastSignedInAt: nullable(t.instant),
  hasSignedIn: t.boolean,
  /** When the user was let in by name. */
  addedAt: nullable(t.instant),
  /** A group that lets the user in. */
  groupId: nullable(t.uuid),
  groupName: nullable(t.text),
};

/** An application that a user has signed in to, or to which the user was let in. */
export type UserAccess = RowOfType<typeof columns>;

/** Returns whether the user may sign in to the application. */
export function mayEnter({ isRestricted, addedAt, groupId }: UserAccess): boolean {
  return !isRestricted || addedAt !== null || groupId !== null;
}

/** Returns the applications of a user by name, up to `MAX_LISTED_ACCESS`. */
export function listUserAccess({ now, run }: Call, userId: string): Promise<readonly UserAccess[]> {
  return run(selectAccess, { userId, now });
}

const selectAccess = statement('select_user_access', columns)`
  with signed_in as (
    select application_id, last_signed_in_at from application_users where user_id = ${p.uuid('userId')}
  ), added as (
    select x.application_id, x.added_at from added_users x where x.user_id = ${p.uuid('userId')} and ${notExpired}
  ), granted as (
    select distinct on (g.application_id) g.application_id, r.id, r.name
    from group_members m join application_groups g on g.group_id = m.group_id and g.allows_access
      join groups r on r.id = m.group_id and r.deleted_at is null
    where m.user_id = ${p.uuid('userId')}
    order by -- Equivalent: order: only brings the groups of an application together
      g.application_id,
      r.name
  ), listed as (
    select application_id from signed_in union select application_id from added
    union select application_id from granted
  )
  select a.id, ${labelOf('a')} as name, a.initiate_login_uri, a.restrict_access as is_restricted, signed_in.last_signed_in_at,
    signed_in.application_id is not null as has_signed_in, added.added_at, granted.id as group_id,
    granted.name as group_name
  from listed join applications a on a.id = listed.application_id and a.deleted_at is null and a.id not in ${ownApplicationIds}
    left join signed_in on signed_in.application_id = a.id
    left join added on added.application_id = a.id
    left join granted on granted.application_id = a.id
  order by a.name, a.id limit ${sql.raw(String(MAX_LISTED_ACCESS))}`;
