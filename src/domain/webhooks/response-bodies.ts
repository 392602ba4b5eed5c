/** What endpoints have answered to messages about a person. They may echo the message. */
import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
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
    update webhook_attempts as attempt set response_body = null from ${erased} as erased
    where attempt.user_id = erased.id and attempt.response_body is not null`;
}

/** Removes the bodies of erased users. Parameters: applicationId, userIds. */
export const removeBodiesOfErased = statement('remove_bodies_of_erased')`
  with erased as (
    select id from users where id = any(${p.uuids('userIds')}) and ${isErasedUser}
  ), removed as (${removeResponseBodies(sql`erased`)} and attempt.application_id = ${p.uuid('applicationId')})
  select from erased`;
