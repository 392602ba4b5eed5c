import { and, isNull, sql } from 'drizzle-orm';
import type { RowOf, Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';

const columns = { id: users.id, email: users.email, deactivatedAt: users.deactivatedAt };

type Account = RowOf<typeof columns>;

/** Returns the user who can sign in with the e-mail address, in whatever case. */
export async function findUserByEmail(call: Call, email: string): Promise<Account | undefined> {
  const account = await findAccount(call, email);
  return account?.deactivatedAt ? undefined : account;
}

/**
 * As `findUserByEmail`, for somebody who has proved to have the address.
 *
 * @throws ServiceError `Account closed` if the user is deactivated
 */
export async function findUserToSignIn(call: Call, email: string): Promise<Account | undefined> {
  const account = await findAccount(call, email);
  if (account?.deactivatedAt) throw new ServiceError('ACCOUNT_CLOSED');
  return account;
}

async function findAccount({ run }: Call, email: string): Promise<Account | undefined> {
  const [account] = await run(selectUserByEmail, { email });
  return account;
}

const selectUserByEmail: Statement<Account[]> = (db) =>
  db
    .select(columns)
    .from(users)
    .where(and(sql`lower(${users.email}) = lower(${sql.placeholder('email')})`, isNull(users.deletedAt)))
    .prepare('select_user_by_email');
