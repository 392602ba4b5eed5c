import { randomUUID } from 'node:crypto';
import { and, isNull, sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { applications, instantPlaceholder, users } from '../../database/schema.ts';
import { addedUsers } from '../../database/session-schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, listOf, optional, type Unchecked, uuid } from '../validation.ts';
import { profileRules, type User } from './user.ts';

const rules = { ...profileRules, applicationIds: optional(listOf(uuid, { min: 0, max: 100 })) };

/**
 * Creates a user of the given applications.
 *
 * @throws ServiceError `User already exists` if one has the e-mail or wallet address, in any case; `Application not
 * found`
 */
export async function createUser({ run, now }: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { applicationIds: given, ...profile } = check(request, rules);
  const applicationIds = [...new Set(given ?? [])];
  if (applicationIds.length > 0) {
    const known = await run(selectApplications, { applicationIds: `{${applicationIds.join()}}` });
    if (known.length < applicationIds.length) throw new ServiceError('APPLICATION_NOT_FOUND');
  }
  const user = { id: randomUUID(), ...profile, createdAt: now, deactivatedAt: null };
  const [created] = await run(insertUser, { ...user, applicationIds: `{${applicationIds.join()}}` });
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
  const added = db.$with('added', {}).as(sql`
    insert into ${addedUsers} (application_id, user_id, added_at)
    select application_id, created.id, ${instantPlaceholder('createdAt')}::timestamptz
    from created, unnest(${sql.placeholder('applicationIds')}::uuid[]) as application_id`);
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`created`, applicationId: noApplication });
  return db.with(created, added, audit).select({ id: created.id }).from(created).prepare('insert_user');
};

const selectApplications: Statement<{ id: string }[]> = (db) =>
  db
    .select({ id: applications.id })
    .from(applications)
    .where(
      and(sql`${applications.id} = any(${sql.placeholder('applicationIds')}::uuid[])`, isNull(applications.deletedAt)),
    )
    .prepare('select_applications_of_user');
