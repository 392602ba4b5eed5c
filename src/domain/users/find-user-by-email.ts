import { sql } from 'drizzle-orm';
import { users } from '../../database/schema/schema.ts';
import { columnsOf, type RowOfType, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { canonicalFirst, isSameEmail, spellingsOf } from './same-email.ts';

const columns = { id: users.id, email: users.email, deactivatedAt: users.deactivatedAt };

type FoundUser = RowOfType<typeof columns>;

/** Returns the user who can sign in with the e-mail address, in any spelling. */
export async function findUserByEmail(call: Call, email: string): Promise<FoundUser | undefined> {
  const user = await findUndeletedUser(call, email);
  return user?.deactivatedAt ? undefined : user;
}

/**
 * The same for somebody who has proved to own the address, and may learn that the account is closed.
 *
 * @throws ServiceError `Account closed` if the user is deactivated
 */
export async function findUserToSignIn(call: Call, email: string): Promise<FoundUser | undefined> {
  const user = await findUndeletedUser(call, email);
  if (user?.deactivatedAt) throw new ServiceError('ACCOUNT_CLOSED');
  return user;
}

async function findUndeletedUser({ run }: Call, email: string): Promise<FoundUser | undefined> {
  const [user] = await run(selectUserByEmail, spellingsOf(email));
  return user;
}

const selectUserByEmail = statement('select_user_by_email', columns)`
  select ${columnsOf(columns)} from users
  where ${isSameEmail(sql`email`)} and deleted_at is null order by ${canonicalFirst()} limit 1`;
