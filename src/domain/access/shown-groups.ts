import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';

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
