import { sql } from 'drizzle-orm';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { invalidField, ServiceError } from '../core/errors.ts';
import { rule } from '../core/rule.ts';
import { check, optional, text, type Unchecked, uuid } from '../core/validation.ts';
import { canonicalFirst, isSameEmail, spellingsOf } from './find-user-by-email.ts';
import { type User, userColumns } from './user.ts';

const rules = {
  userId: rule(uuid.schema, (value) => (value === undefined || value === '' ? null : uuid(value)), {
    isOptional: true,
    alternative: 'email',
  }),
  email: optional(text({ max: 254 })),
};

/** Returns a user by ID, by e-mail address in any spelling, or by both. @throws ServiceError `User not found` */
export async function getUser({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId, email } = check(request, rules);
  if (userId === null && email === null) throw invalidField('userId', 'is required');
  const spellings = spellingsOf(email);
  const [user] =
    userId === null ? await run(selectUserWithEmail, spellings) : await run(selectUser, { userId, ...spellings });
  if (!user) throw new ServiceError('USER_NOT_FOUND');
  return user;
}

const selectUser = statement('select_user', userColumns)`
  select ${columnsOf(userColumns)} from users
  where id = ${p.uuid('userId')} and deleted_at is null
    and (${p.texts('emails')} is null or ${isSameEmail(sql`email`)})`;

const selectUserWithEmail = statement('select_user_with_email', userColumns)`
  select ${columnsOf(userColumns)} from users
  where ${isSameEmail(sql`email`)} and deleted_at is null
  -- Equivalent: limit: the first row is the answer
  order by ${canonicalFirst()} limit 1`;
