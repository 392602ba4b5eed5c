/** Response bodies of endpoints. A body may contain personal data, because an endpoint may echo the message. */
import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { isErasedUser } from './user.ts';

/** Returns the ID of the user that a message is about, or null. */
export function findUserOf({ type, payload }: { type: string | null; payload: string | null }): string | null {
  if (payload === null || !/^(session|user)\./.test(type ?? '')) return null;
  const { data } = JSON.parse(payload) as { data?: { userId?: string; id?: string } };
  return data?.userId ?? data?.id ?? null;
}

/** Returns an update that removes the bodies about users whose IDs are in a CTE. */
export function removeResponseBodies(erased: SQL): SQL {
  return sql`
    update webhook_attempts as attempt set response_body = null from ${erased} as erased
    where attempt.user_id = erased.id and attempt.response_body is not null`;
}

/** Removes the bodies about erased users. Parameters: applicationId, userIds. */
export const removeBodiesOfErased = statement('remove_bodies_of_erased')`
  with erased as (
    select id from users where id = any(${p.uuids('userIds')}) and ${isErasedUser}
  ), removed as (${removeResponseBodies(sql`erased`)} and attempt.application_id = ${p.uuid('applicationId')})
  select from erased`;
