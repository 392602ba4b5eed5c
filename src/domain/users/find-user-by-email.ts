import { and, isNull, sql } from 'drizzle-orm';
import type { RowOf, Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';

const columns = { id: users.id, email: users.email, deactivatedAt: users.deactivatedAt };

type FoundUser = RowOf<typeof columns>;

/** Returns the user who can sign in with the e-mail address, in any case. */
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
  const [user] = await run(selectUserByEmail, { email });
  return user;
}

const selectUserByEmail: Statement<FoundUser[]> = (db) =>
  db
    .select(columns)
    .from(users)
    .where(and(sql`lower(${users.email}) = lower(${sql.placeholder('email')})`, isNull(users.deletedAt)))
    .prepare('select_user_by_email');
