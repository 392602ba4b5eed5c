/** What is stored of a person beside the user's profile. */
import { getTableName, type SQL, sql } from 'drizzle-orm';
import { provedIdentities, userIdentities } from '../../database/identity-schema.ts';
import { knownOrigins, loginCodes, rememberedSignIns, walletChallenges } from '../../database/login-schema.ts';
import { oidcGrants } from '../../database/oidc-schema.ts';
import { passkeys } from '../../database/passkey-schema.ts';
import { addedUsers, applicationUsers, sessions } from '../../database/session-schema.ts';
import { p, statement } from '../../database/template.ts';
import { webhookMessages } from '../../database/webhook-schema.ts';
import type { Call } from '../call.ts';
import { removeResponseBodies } from '../webhooks/response-bodies.ts';
import { isErasedUser } from './user.ts';

/**
 * Removes what the user has left in other tables, if the user is erased. Returns whether that is so.
 *
 * A statement that stores personal data and an erasure that commits meanwhile do not see each other's rows. So the
 * erasure removes them in a second statement, and whoever stores them calls this afterwards: one of both sees them. A
 * lock of the user's row would do, too, but on Citus it would stop sign-ins everywhere while one worker is away.
 */
export async function removeIfErased({ run }: Call, userId: string): Promise<boolean> {
  const [erased] = await run(selectErased, { userId });
  if (erased) await run(removePersonalData, { userId });
  return erased !== undefined;
}

const erasedUser = sql`select id from users where id = ${p.uuid('userId')} and ${isErasedUser}`;

const selectErased = statement('select_erased_user')`${erasedUser}`;

/** Tables with rows about a user. */
const TABLES = [
  sessions,
  applicationUsers,
  addedUsers,
  loginCodes,
  knownOrigins,
  rememberedSignIns,
  oidcGrants,
  passkeys,
  userIdentities,
  webhookMessages,
];

const removePersonalData = statement('remove_personal_data')`
  with erased as (${erasedUser}
  ), ${sql.join(TABLES.map(deleteFrom), sql`, `)}, bodies_left as (${removeResponseBodies(sql`erased`)}
  ), ${sql.join([loginCodes, walletChallenges, provedIdentities].map(deleteFromLogins), sql`, `)}, origins_left as (
    update login_intents i set ip_address = null, user_agent = null from erased
    where i.user_id = erased.id and i.ip_address is not null
  ), addresses_left as (
    -- Who has erased the user, and from where, stays.
    update audit_events e set ip_address = '' from erased
    where e.resource = erased.id::text and e.ip_address <> '' and e.action <> 'AdminService/EraseUser'
  )
  select from erased`;

function deleteFrom(table: (typeof TABLES)[number]): SQL {
  const name = getTableName(table);
  return sql.raw(`${name}_left as (delete from ${name} t using erased where t.user_id = erased.id)`);
}

/**
 * Returns a CTE. What was entered at a login of the user may have an address that the user has had before, and the code of
 * a sign-up belongs to no user.
 */
function deleteFromLogins(table: typeof loginCodes | typeof walletChallenges | typeof provedIdentities): SQL {
  const name = getTableName(table);
  return sql.raw(`${name}_of_logins_left as (
    delete from ${name} t using login_intents i, erased
    where i.user_id = erased.id and t.application_id = i.application_id and t.login_intent_id = i.id)`);
}
