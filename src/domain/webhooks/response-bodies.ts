/** What endpoints have answered to messages about a person. They may echo the message. */
import { type SQL, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { webhookAttempts } from '../../database/webhook-schema.ts';
import { isErasedUser } from '../users/user.ts';

/** Returns whom a message is about, or null. */
export function findUserOf({ type, payload }: { type: string | null; payload: string | null }): string | null {
  if (payload === null || !/^(session|user)\./.test(type ?? '')) return null;
  const { data } = JSON.parse(payload) as { data?: { userId?: string; id?: string } };
  return data?.userId ?? data?.id ?? null;
}

/** Removes the bodies of the users in the CTE. */
export function removeResponseBodies(erased: SQL): SQL {
  return sql`
    update ${webhookAttempts} set response_body = null from ${erased}
    where ${webhookAttempts.userId} = erased.id and ${webhookAttempts.responseBody} is not null`;
}

/** Removes the bodies of those users that are erased. Parameters: applicationId, userIds as `{...}`. */
export const removeBodiesOfErased: Statement<unknown> = (db) => {
  const erased = db.$with('erased').as(
    db
      .select({ id: users.id })
      .from(users)
      .where(sql`${users.id} = any(${sql.placeholder('userIds')}::uuid[]) and ${isErasedUser}`),
  );
  const applicationId = sql`${webhookAttempts.applicationId} = ${sql.placeholder('applicationId')}`;
  const removed = db.$with('removed', {}).as(sql`${removeResponseBodies(sql`${erased}`)} and ${applicationId}`);
  return db.with(erased, removed).select().from(erased).prepare('remove_bodies_of_erased');
};
