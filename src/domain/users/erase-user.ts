import { eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { loginCodes, walletChallenges } from '../../database/login-schema.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { cutoffAt, endUserSessions } from '../sessions/cutoffs.ts';
import { endLateSessions } from '../sessions/late-sessions.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { sessionsRevoked, userDeleted } from '../webhooks/user-messages.ts';
import { removeIfErased } from './personal-data.ts';

const rules = { userId: uuid };

/**
 * Removes what is known of a person, deleting the user unless that was done before. The row stays with its ID, which
 * webhooks and login intents refer to. Messages about the person that are pending are not sent any more.
 *
 * @throws ServiceError `User not found`
 */
export async function eraseUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<string> {
  const { userId } = check(request, rules);
  const [erased] = await call.run(eraseProfile, { userId, ...cutoffAt(call.now) });
  if (!erased) throw new ServiceError('USER_NOT_FOUND');
  await endLateSessions(call, userId);
  // Not in one statement with the rest, which cannot see what statements before it, for which it waits, have stored.
  await removeIfErased(call, userId);
  announce(call.onMessage, erased);
  return userId;
}

const eraseProfile: Statement<HasMessages[]> = (db) => {
  const known = db.$with('known').as(
    db
      .select({ id: users.id, email: users.email, walletAddress: users.walletAddress, deletedAt: users.deletedAt })
      .from(users)
      .where(eq(users.id, sql.placeholder('userId'))),
  );
  const erased = db.$with('erased', {}).as(sql`
    update ${users} set email = '', name = null, profile_image = null, wallet_address = '',
      deleted_at = coalesce(${users.deletedAt}, ${instantPlaceholder('now')})
    from ${known} where ${users.id} = ${known.id}`);
  // Those that somebody else has asked for with the addresses of the user.
  const codes = db.$with('codes', {}).as(sql`
    delete from ${loginCodes} using ${known} where lower(${loginCodes.email}) = lower(${known.email})`);
  const challenges = db.$with('challenges', {}).as(sql`
    delete from ${walletChallenges} using ${known} where ${walletChallenges.address} = lower(${known.walletAddress})`);
  const changed = sql`known where deleted_at is null or email <> '' or wallet_address <> ''`;
  const audit = insertAuditEvent(db, { resource: sql`id`, from: changed, applicationId: noApplication });
  const deleted = sql`(select * from ${known} where deleted_at is null)`;
  const message = insertMessages(db, sessionsRevoked(sql`ended`), userDeleted(deleted));
  return db
    .with(known, audit, erased, ...endUserSessions(db, sql`${known}`), codes, challenges, message)
    .select({ notifiedIds })
    .from(known)
    .prepare('erase_user');
};
