import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, emailAddress, identifier, optional, type Unchecked, webUrl } from '../validation.ts';

const rules = {
  email: emailAddress,
  name: optional(identifier),
  profileImage: optional(webUrl),
  walletAddress: identifier,
};

export interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly profileImage: string | null;
  readonly walletAddress: string;
}

/** Throws `User already exists` when a user has that e-mail address, in whatever case: `lower` of Postgres tells. */
export async function createUser({ run, now }: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const user = { id: randomUUID(), ...check(request, rules) };
  const [created] = await run(insertUser, { ...user, createdAt: now });
  if (!created) throw new ServiceError('already_exists', 'User already exists');
  return user;
}

const insertUser: Statement<{ id: string }[]> = (db) =>
  db
    .insert(users)
    .values({
      id: sql.placeholder('id'),
      email: sql.placeholder('email'),
      name: sql.placeholder('name'),
      profileImage: sql.placeholder('profileImage'),
      walletAddress: sql.placeholder('walletAddress'),
      createdAt: sql.placeholder('createdAt'),
    })
    .onConflictDoNothing()
    .returning({ id: users.id })
    .prepare('insert_user');
