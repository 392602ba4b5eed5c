import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { type User, userColumns } from './user.ts';

const rules = { userId: uuid };

/** Lets a deactivated user sign in again. @throws ServiceError `User not found` */
export async function reactivateUser({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId } = check(request, rules);
  const [user] = await run(markActive, { userId });
  if (!user) throw new ServiceError('USER_NOT_FOUND');
  return user;
}

const markActive: Statement<User[]> = (db) => {
  const reactivated = db.$with('reactivated').as(
    db
      .update(users)
      .set({ deactivatedAt: null })
      .where(and(eq(users.id, sql.placeholder('userId')), isNull(users.deletedAt)))
      .returning(userColumns),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`reactivated`, applicationId: noApplication });
  return db.with(reactivated, audit).select().from(reactivated).prepare('mark_user_active');
};
