import { anyOf } from '../../database/sql/any-of.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { check, listOf, type Unchecked, uuid } from '../core/validation.ts';
import { type ApplicationUser, applicationUserColumns, shownColumns } from './application-user.ts';
import { attributeParameter } from './attributes.ts';

const rules = { userIds: listOf(uuid, { min: 1, max: 100 }) };

/** Returns those of the users who have signed in to the application, each once, in the order of the IDs. */
export async function batchGetUsers(
  { application, run }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<ApplicationUser[]> {
  const { userIds } = check(request, rules);
  const rows = await run(selectUsersOfIds, {
    ...attributeParameter(application),
    applicationId: application.id,
    userIds,
  });
  const users = new Map(rows.map((user) => [user.id, user]));
  return [...new Set(userIds)].flatMap((id) => users.get(id) ?? []);
}

const selectUsersOfIds = statement('select_users_of_ids', applicationUserColumns)`
  select ${shownColumns}, first_signed_in_at
  from application_users join users on users.id = user_id
  where application_id = ${p.uuid('applicationId')} and user_id = ${anyOf(p.uuids('userIds'))} and deleted_at is null`;
