/** Personal data of a user outside the profile. */
import { getTableName, type SQL, sql } from 'drizzle-orm';
import { hashOf, isAttempt, isFoundByResource } from '../../database/schema/audit-schema.ts';
import { TABLES } from '../../database/schema/tables.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { isErasedUser } from './user.ts';

/**
 * If the user is erased, removes the user's rows from other tables. Returns whether the user is erased.
 *
 * A statement that stores personal data and an erasure that commits meanwhile do not see each other's rows. So the
 * erasure calls this in a second statement, and so does every function that has stored personal data. At least one of
 * the two sees all rows. A lock of the user's row would do the same, but where every server has a copy of the row it
 * would stop all sign-ins while one of them is down.
 */
export async function removeIfErased({ run }: Call, userId: string): Promise<boolean> {
  const [erased] = await run(selectErased, { userId });
  if (erased) await run(removePersonalData, { userId });
  return erased !== undefined;
}

const erasedUser = sql`select id from users where id = ${p.uuid('userId')} and ${isErasedUser}`;

const selectErased = statement('select_erased_user')`${erasedUser}`;

const erasedBy = (how: 'user' | 'login') =>
  TABLES.filter((facts) => facts.erasedBy.includes(how)).map(({ table }) => getTableName(table));

/** Whether the event `e` is about the erased user, by an index. */
const isOfErased = sql`
      -- Equivalent: conjunct: only lets Postgres use the index
      ${hashOf(sql`e.resource`)} = ${hashOf(sql`erased.id::text`)} and ${isFoundByResource}
      -- Equivalent: conjunct: no two users have the same hash of 8 bytes
      and e.resource = erased.id::text`;

const removePersonalData = statement('remove_personal_data')`
  with erased as (${erasedUser}
  ), ${keepUserCutoff(sql`
      select a.application_id, a.user_id from application_users a join erased on erased.id = a.user_id`)},
  ${sql.join(erasedBy('user').map(deleteFrom), sql`, `)}, bodies_left as (${removeResponseBodies(sql`erased`)}
  ), ${sql.join(erasedBy('login').map(deleteFromLogins), sql`, `)}, origins_left as (
    update login_intents i set ip_address = null, user_agent = null, started_from = null from erased
    where i.user_id = erased.id and (i.ip_address is not null or i.started_from is not null)
  ), addresses_left as (
    -- The event of the erasure keeps the address of its caller. An event with a note has an address.
    update audit_events e set ip_address = '', note = null from erased
    where ${isOfErased} and e.ip_address <> '' and e.action <> 'AdminService/EraseUser'
  ), attempts_left as (
    delete from audit_events e using erased where ${isOfErased} and ${isAttempt}
  )
  select from erased`;

/**
 * Returns the CTE `kept`. Readers of revocations get the cut-off of a user for every application while the user has a
 * row in `application_users`. Where that row goes, the cut-off stays as one of the application.
 *
 * @param left selects these rows
 */
export function keepUserCutoff(left: SQL): SQL {
  return sql`kept as (
    insert into session_cutoffs as c (application_id, user_id, cutoff_at, expires_at)
    select l.application_id, l.user_id, u.cutoff_at, u.expires_at
    from (${left}) l join user_cutoffs u on u.user_id = l.user_id
    on conflict (application_id, user_id) do update set
      cutoff_at = greatest(c.cutoff_at, excluded.cutoff_at), expires_at = greatest(c.expires_at, excluded.expires_at),
      changed_at = greatest(c.changed_at, excluded.changed_at)
  )`;
}

function deleteFrom(name: string): SQL {
  return sql.raw(`${name}_left as (delete from ${name} t using erased where t.user_id = erased.id)`);
}

/** Returns a CTE that deletes the rows of the user's logins. */
function deleteFromLogins(name: string): SQL {
  return sql.raw(`${name}_of_logins_left as (
    delete from ${name} t using login_intents i, erased
    where i.user_id = erased.id and t.application_id = i.application_id and t.login_intent_id = i.id)`);
}

/**
 * Returns the ID of the user that a message is about, or null. The response body of an endpoint may contain their
 * personal data, because an endpoint may echo the message.
 */
export function findUserOf({ type, payload }: { type: string | null; payload: string | null }): string | null {
  if (payload === null || !/^(session|user)\./.test(type ?? '')) return null;
  const { data } = JSON.parse(payload) as { data?: { userId?: string; id?: string } };
  return data?.userId ?? data?.id ?? null;
}

/** Returns an update that removes the bodies about users whose IDs are in a CTE. */
function removeResponseBodies(erased: SQL): SQL {
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
