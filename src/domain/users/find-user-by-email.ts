import { and, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { isActiveUser } from './user.ts';

/** Returns the user who can sign in with the e-mail address, in whatever case. */
export async function findUserByEmail(
  { run }: Call,
  email: string,
): Promise<{ readonly id: string; readonly email: string } | undefined> {
  const [user] = await run(selectUserByEmail, { email });
  return user;
}

const selectUserByEmail: Statement<{ id: string; email: string }[]> = (db) =>
  db
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(and(sql`lower(${users.email}) = lower(${sql.placeholder('email')})`, isActiveUser))
    .prepare('select_user_by_email');
