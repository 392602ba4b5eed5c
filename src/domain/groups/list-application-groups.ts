import { applicationGroups, groups } from '../../database/schema/group-schema.ts';
import { columnsOf, p, type RowOfType, statement } from '../../database/sql/template.ts';
import { getApplication } from '../applications/get-application.ts';
import type { Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';

const rules = { applicationId: uuid };

const { name, displayName } = groups;
const { groupId, allowsAccess, inClaim } = applicationGroups;
const columns = { groupId, name, displayName, allowsAccess, inClaim };

/** What a group means to an application. */
export type ApplicationGroup = RowOfType<typeof columns>;

/** Returns the groups that mean something to an application, by name. @throws ServiceError `Application not found` */
export async function listApplicationGroups(
  call: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<ApplicationGroup[]> {
  const { applicationId } = check(request, rules);
  const found = await call.run(selectApplicationGroups, { applicationId });
  if (found.length === 0) await getApplication(call, { applicationId });
  return found;
}

const selectApplicationGroups = statement('select_application_groups', columns)`
  select ${columnsOf(columns)} from application_groups join groups on groups.id = group_id
  where application_id = ${p.uuid('applicationId')}
    and exists (select 1 from applications where id = ${p.uuid('applicationId')} and deleted_at is null)
  order by name`;
