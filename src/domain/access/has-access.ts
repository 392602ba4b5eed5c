/**
 * Who may enter an application with `restrict_access`: users in `added_users`, and members of groups with access. It is
 * decided where a login is completed, and again where a session or grant begins or is renewed. Until then a loss of
 * access is a cut-off, as every other end of a sign-in.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';

const added = (applicationId: SQLWrapper, userId: SQLWrapper) => sql`
  select x.user_id from added_users x where x.application_id = ${applicationId} and x.user_id = ${userId}`;

/**
 * Returns the SQL of the groups that let the user in.
 *
 * @param counts the condition that a row `m` of `group_members` and a row `g` of `application_groups` count
 */
export const grantedByGroups = (applicationId: SQLWrapper, userId: SQLWrapper, counts: SQL = sql`true`) => sql`
  select m.user_id from group_members m join application_groups g on g.group_id = m.group_id
  where m.user_id = ${userId} and g.application_id = ${applicationId} and g.allows_access and ${counts}`;

/**
 * Excludes what an invitation has given that has expired and that nobody has accepted. Sign-ins ask it, because the job
 * that removes such an invitation comes later. In `x`, a row of `added_users`.
 */
export const notExpired = sql`not exists (
  select 1 from invitations v where v.application_id = x.application_id and v.user_id = x.user_id
    and v.added_user and v.accepted_at is null and v.expires_at <= ${p.instant('now')})`;

/** The condition that the user may sign in to the application. Parameters: applicationId, userId, now. */
export const maySignIn = sql`exists (${added(p.uuid('applicationId'), p.uuid('userId'))} and ${notExpired}
    union all ${grantedByGroups(p.uuid('applicationId'), p.uuid('userId'))})`;

/**
 * Returns the condition that the application is restricted, and that the user may not enter it. Not by a union, which
 * distributed tables do not allow in a statement that asks it of several applications.
 */
export function isRefused(applicationId: SQLWrapper, userId: SQLWrapper): SQL {
  return sql`(select a.restrict_access from applications a where a.id = ${applicationId})
    and not exists (${added(applicationId, userId)}) and not exists (${grantedByGroups(applicationId, userId)})`;
}

/**
 * Two CTEs that read who may enter, and the condition on them: for a statement on a table that is distributed otherwise
 * than `added_users`. Parameters: applicationId, userId, now.
 */
export const accessByCtes = {
  ctes: sql`added_here as (${added(p.uuid('applicationId'), p.uuid('userId'))} and ${notExpired}
  ), granted_here as (${grantedByGroups(p.uuid('applicationId'), p.uuid('userId'))}
  )`,
  condition: sql`(exists (select 1 from added_here) or exists (select 1 from granted_here))`,
};

/**
 * Returns the names of the user's groups that the application sees, as JSON: at most 100, because a user is in no more.
 * They are read anew each time, so that a role ends with its group.
 */
export function shownGroups(applicationId: SQLWrapper, userId: SQLWrapper, condition: SQL = sql`true`): SQL {
  return sql`array_to_json(array(
    select r.name from group_members m join application_groups g on g.group_id = m.group_id
      join groups r on r.id = m.group_id
    where m.user_id = ${userId} and g.application_id = ${applicationId} and g.in_claim and ${condition} order by r.name))`;
}
