import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';

/**
 * Returns the names of the user's groups that the application sees, as JSON: at most 100, because a user is in no more.
 * They are read anew each time, so that a role ends with its group. The groups of the application are read once for all
 * rows of a statement.
 */
export function shownGroups(applicationId: SQLWrapper, userId: SQLWrapper, condition: SQL = sql`true`): SQL {
  return sql`array_to_json(array(
    select r.name from group_members m join groups r on r.id = m.group_id
    where m.user_id = ${userId} and ${condition} and m.group_id = any(array(
      select g.group_id from application_groups g where g.application_id = ${applicationId} and g.in_claim))
    order by r.name))`;
}
