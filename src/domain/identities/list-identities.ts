import { userIdentities } from '../../database/schema/identity-schema.ts';
import { columnsOf, p, type RowOfType, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { getUser } from '../users/get-user.ts';

const rules = { userId: uuid };

const { issuer, subject, provider, createdAt, countsFrom } = userIdentities;
const columns = { issuer, subject, provider, createdAt, countsFrom };

/** An account at a provider with which a user signs in. */
export type UserIdentity = RowOfType<typeof columns>;

/** Returns the identities of a user, oldest first. @throws ServiceError `User not found` */
export async function listUserIdentities(call: Call, request: Unchecked<keyof typeof rules>): Promise<UserIdentity[]> {
  const { userId } = check(request, rules);
  const identities = await call.run(selectIdentities, { userId });
  if (identities.length === 0) await getUser(call, { userId });
  return identities;
}

export const selectIdentities = statement('select_identities', columns)`
  select ${columnsOf(columns)} from user_identities
  where user_id = ${p.uuid('userId')} order by created_at, issuer, subject`;
