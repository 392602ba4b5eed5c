/** How statements compare e-mail addresses: by letters of ASCII alone, so that no locale of Postgres can change it. */
import { type SQL, sql } from 'drizzle-orm';
import { listSpellings } from '../../config/email-address.ts';
import { users } from '../../database/schema/schema.ts';
import { anyOf } from '../../database/sql/any-of.ts';
import { columnsOf, p, type RowOfType, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';

export const foldedEmail = (email: SQL): SQL => sql`lower(${email} collate "C")`;

/** Whether the column has the address in one of its spellings. `parameter` names the list of them. */
export function isSameEmail(column: SQL, parameter = 'emails'): SQL {
  return sql`${foldedEmail(column)} = ${anyOf(p.texts(parameter))}`;
}

/**
 * Orders users by how their address is spelled. Rows from before Usher stored A-labels may have several spellings of
 * one address, of which the canonical one wins.
 */
export function canonicalFirst(parameter = 'emails'): SQL {
  return sql`array_position(${p.texts(parameter)}, ${foldedEmail(sql`email`)})`;
}

/** Whether a user has the address. The unique index covers the canonical spelling only. Parameter: emails. */
export const isEmailTaken = sql`exists (select 1 from users where ${isSameEmail(sql`email`)} and deleted_at is null)`;

/** The parameter of `isSameEmail`. */
export function spellingsOf<Email extends string | null | undefined>(email: Email) {
  return { emails: email === null || email === undefined ? null : listSpellings(email) };
}

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
  if (user?.deactivatedAt) throw new ServiceError('ACCOUNT_CLOSED', { attempt: { userId: user.id } });
  return user;
}

/** Also returns a user who is deactivated. */
export async function findUndeletedUser({ run }: Call, email: string): Promise<FoundUser | undefined> {
  const [user] = await run(selectUserByEmail, spellingsOf(email));
  return user;
}

/** Selects the user with the address, also a deactivated one. Parameter: emails. */
export const userByEmail = sql`
  select ${columnsOf(columns)} from users
  where ${isSameEmail(sql`email`)} and deleted_at is null order by ${canonicalFirst()} limit 1`;

const selectUserByEmail = statement('select_user_by_email', columns)`${userByEmail}`;
