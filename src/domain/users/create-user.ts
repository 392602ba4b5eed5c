import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked } from '../validation.ts';
import { profileRules, type User } from './user.ts';

/** Creates a user. @throws ServiceError `User already exists` if one has the e-mail or wallet address, in any case */
export async function createUser({ run, now }: Call, request: Unchecked<keyof typeof profileRules>): Promise<User> {
  const user = { id: randomUUID(), ...check(request, profileRules), createdAt: now, deactivatedAt: null };
  const [created] = await run(insertUser, user);
  if (!created) throw new ServiceError('USER_ALREADY_EXISTS');
  return user;
}

const insertUser: Statement<{ id: string }[]> = (db) => {
  const created = db.$with('created').as(
    db
      .insert(users)
      .values(placeholders('id', 'email', 'name', 'profileImage', 'walletAddress', 'createdAt'))
      .onConflictDoNothing()
      .returning({ id: users.id }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`created`, applicationId: noApplication });
  return db.with(created, audit).select({ id: created.id }).from(created).prepare('insert_user');
};
