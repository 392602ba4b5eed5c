import { type SQL, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import { leaveUnfinished } from '../core/unfinished-changes.ts';

/**
 * Returns the CTE `unfinished`, which leaves to the job what a change of a group means to its members. The CTE `losing`
 * has the applications that they may have lost. Parameter: groupId.
 *
 * @param seeing selects the IDs of applications that learn of it, beside those that see the group
 */
export function changeMembers({
  from,
  groupId,
  losing = sql`select application_id from losing`,
  seeing,
  isRemoval,
}: {
  readonly from: SQL;
  readonly groupId: SQL;
  readonly losing?: SQL;
  readonly seeing?: SQL;
  readonly isRemoval?: SQL;
}): SQL {
  const ofGroup = sql`select application_id from application_groups where group_id = ${p.uuid('groupId')} and in_claim`;
  return leaveUnfinished('group', {
    from,
    subjectId: groupId,
    losing: sql`array(${losing})`,
    seeing: sql`array(${ofGroup}${seeing ? sql` union ${seeing}` : sql``})`,
    ...(isRemoval && { isRemoval }),
  });
}
