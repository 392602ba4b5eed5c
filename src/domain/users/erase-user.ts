import { eq, type SQL, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { knownOrigins, loginCodes, sharedWalletAddresses, walletChallenges } from '../../database/login-schema.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { applicationUsers } from '../../database/session-schema.ts';
import { webhookMessages } from '../../database/webhook-schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { cutoffAt, endUserSessions } from '../sessions/cutoffs.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { sessionsRevoked, userDeleted } from '../webhooks/user-messages.ts';

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
  // Changes of the user that the erasure waited for have left messages that it could not see.
  await call.run(deleteMessages, { userId });
  announce(call.onMessage, erased);
  return userId;
}

const deleteMessages: Statement<unknown> = (db) =>
  db
    .delete(webhookMessages)
    .where(eq(webhookMessages.userId, sql.placeholder('userId')))
    .prepare('delete_messages_of_user');

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
  const parts = {
    codes: sql`delete from ${loginCodes} using ${known} where lower(${loginCodes.email}) = lower(${known.email})`,
    challenges: sql`
      delete from ${walletChallenges} using ${known}
      where ${walletChallenges.address} = lower(${known.walletAddress})`,
    origins: sql`delete from ${knownOrigins} using ${known} where ${knownOrigins.userId} = ${known.id}`,
    shared: sql`delete from ${sharedWalletAddresses} using ${known} where ${sharedWalletAddresses.userId} = ${known.id}`,
  };
  const last = {
    left_applications: sql`delete from ${applicationUsers} using ${known} where ${applicationUsers.userId} = ${known.id}`,
    messages: sql`delete from ${webhookMessages} using ${known} where ${webhookMessages.userId} = ${known.id}`,
  };
  const withAll = (statements: Record<string, SQL>) =>
    Object.entries(statements).map(([name, statement]) => db.$with(name, {}).as(statement));
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`known`, applicationId: noApplication });
  const deleted = sql`(select * from ${known} where deleted_at is null)`;
  const message = insertMessages(db, sessionsRevoked, userDeleted(deleted));
  // The message goes to the applications that are left. On Citus a part sees what those before it have done.
  return db
    .with(known, audit, erased, ...endUserSessions(db, sql`${known}`), ...withAll(parts), message, ...withAll(last))
    .select({ notifiedIds })
    .from(known)
    .prepare('erase_user');
};
