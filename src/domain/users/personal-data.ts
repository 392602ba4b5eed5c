/** What is stored of a person beside the user's profile. */
import { type SQL, sql } from 'drizzle-orm';
import { auditEvents } from '../../database/audit-schema.ts';
import type { Db, Statement } from '../../database/database.ts';
import { knownOrigins, loginCodes } from '../../database/login-schema.ts';
import { users } from '../../database/schema.ts';
import { addedUsers, applicationUsers, sessions } from '../../database/session-schema.ts';
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

const selectErased: Statement<{ id: string }[]> = (db) => erasedUser(db).prepare('select_erased_user');

const removePersonalData: Statement<unknown> = (db) => {
  const erased = db.$with('erased').as(erasedUser(db));
  const parts = Object.entries(leftBehind(sql`${erased}`)).map(([name, part]) => db.$with(name, {}).as(part));
  return db
    .with(erased, ...parts)
    .select()
    .from(erased)
    .prepare('remove_personal_data');
};

function leftBehind(erased: SQL): Record<string, SQL> {
  return {
    sessions_left: sql`delete from ${sessions} using ${erased} where ${sessions.userId} = erased.id`,
    applications_left: sql`delete from ${applicationUsers} using ${erased} where ${applicationUsers.userId} = erased.id`,
    additions_left: sql`delete from ${addedUsers} using ${erased} where ${addedUsers.userId} = erased.id`,
    codes_left: sql`delete from ${loginCodes} using ${erased} where ${loginCodes.userId} = erased.id`,
    origins_left: sql`delete from ${knownOrigins} using ${erased} where ${knownOrigins.userId} = erased.id`,
    messages_left: sql`delete from ${webhookMessages} using ${erased} where ${webhookMessages.userId} = erased.id`,
    bodies_left: removeResponseBodies(erased),
    // Who has erased the user, and from where, stays.
    addresses_left: sql`
      update ${auditEvents} set ip_address = '' from ${erased}
      where ${auditEvents.resource} = erased.id::text and ${auditEvents.ipAddress} <> ''
        and ${auditEvents.action} <> 'AdminService/EraseUser'`,
  };
}

function erasedUser(db: Db) {
  return db
    .select({ id: users.id })
    .from(users)
    .where(sql`${users.id} = ${sql.placeholder('userId')} and ${isErasedUser}`);
}
