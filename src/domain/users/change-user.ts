import { and, eq, exists, isNull, ne, not, notExists, type SQL, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';
import type { Db } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import { differ } from '../changes.ts';
import { type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { userMessage } from '../webhooks/user-messages.ts';
import { isExistingUser, pickUser, type User, userColumns } from './user.ts';

export type ChangedUser = { readonly user: User } & HasMessages;

/** `isTaken`: nothing has changed, because another user has the e-mail or wallet address. */
export type ChangedProfile = ChangedUser & { readonly isTaken: boolean };

/**
 * Changes columns of a user, tells every application of it, and returns the user. Values that the user has already
 * change nothing and tell nobody. Placeholders: userId, now, and the new email and walletAddress, or null.
 */
export function changeUser(db: Db, changes: Readonly<Record<string, SQL>>, condition = isExistingUser) {
  const before = db.$with('before').as(db.select(userColumns).from(users).where(condition).for('no key update'));
  const isTaken = isOfAnother(db);
  const changed = db.$with('changed').as(
    db
      .update(users)
      .set(changes)
      .from(before)
      .where(and(eq(users.id, before.id), differ(users, changes), not(isTaken)))
      .returning(userColumns),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`changed`, applicationId: noApplication });
  const message = insertMessages(db, userMessage('user.updated', sql`${changed}`));
  const unchanged = db
    .select(pickUser(before))
    .from(before)
    .where(notExists(db.select({ one: sql`1` }).from(changed)));
  const user = unionAll(db.select(pickUser(changed)).from(changed), unchanged).as('result');
  return db
    .with(before, changed, audit, message)
    .select({ user: pickUser(user), isTaken: sql<boolean>`${isTaken}`.as('is_taken'), notifiedIds })
    .from(user);
}

/**
 * Returns whether another user has one of the addresses. Asked first, because a violation of a unique index would have
 * the address in the log of Postgres. Of two changes at the same instant, one may still violate it.
 */
function isOfAnother(db: Db): SQL {
  const others = (hasAddress: SQL) =>
    db
      .select({ one: sql`1` })
      .from(users)
      .where(and(hasAddress, isNull(users.deletedAt), ne(users.id, sql.placeholder('userId'))));
  const hasEmail = sql`lower(${users.email}) = lower(${sql.placeholder('email')})`;
  const hasWallet = sql`lower(${users.walletAddress}) = lower(${sql.placeholder('walletAddress')}) and ${users.walletAddress} <> ''`;
  return sql`(${exists(others(hasEmail))} or ${exists(others(hasWallet))})`;
}
