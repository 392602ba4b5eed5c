import { type SQL, sql } from 'drizzle-orm';
import type { Db, Statement } from '../../database/database.ts';
import { applications, instantPlaceholder, users } from '../../database/schema.ts';
import { addedUsers } from '../../database/session-schema.ts';
import { isExistingApplication } from '../applications/application.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { removeIfErased } from './personal-data.ts';
import { isExistingUser } from './user.ts';

const rules = { applicationId: uuid, userId: uuid };

/**
 * Makes a user one of the application's without a sign-in.
 *
 * @throws ServiceError `Application not found`, `User not found`
 */
export async function addApplicationUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const parameters = check(request, rules);
  requireBoth(await call.run(insertAddedUser, { ...parameters, now: call.now }));
  if (await removeIfErased(call, parameters.userId)) throw new ServiceError('USER_NOT_FOUND');
}

export interface FoundBoth {
  readonly hasApplication: boolean;
  readonly hasUser: boolean;
}

/** @throws ServiceError `Application not found`, `User not found` */
export function requireBoth([found]: readonly FoundBoth[]): void {
  if (!found?.hasApplication) throw new ServiceError('APPLICATION_NOT_FOUND');
  if (!found.hasUser) throw new ServiceError('USER_NOT_FOUND');
}

/** Selects whether there are the application and the user. Placeholders: applicationId, userId. */
export function foundBoth(db: Db) {
  const isThere = (rows: SQL) => sql<boolean>`exists (${rows})`;
  return {
    hasApplication: isThere(sql`${db.select().from(applications).where(isExistingApplication)}`).as('has_application'),
    hasUser: isThere(sql`${db.select().from(users).where(isExistingUser)}`).as('has_user'),
  };
}

const insertAddedUser: Statement<FoundBoth[]> = (db) => {
  const added = db.$with('added', {}).as(sql`
    insert into ${addedUsers} (application_id, user_id, added_at)
    select ${applications.id}, ${users.id}, ${instantPlaceholder('now')}::timestamptz from ${applications}, ${users}
    where ${isExistingApplication} and ${isExistingUser}
    on conflict do nothing returning user_id`);
  const audit = insertAuditEvent(db, { resource: sql`user_id`, from: sql`added` });
  return db.with(added, audit).select(foundBoth(db)).from(sql`(select) as nothing`).prepare('insert_added_user');
};
