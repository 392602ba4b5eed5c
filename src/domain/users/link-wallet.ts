import { and, eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { isUniqueViolation } from '../../database/errors.ts';
import { users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { userMessage } from '../webhooks/user-messages.ts';
import { isActiveUser, userColumns } from './user.ts';

/** Gives the user the wallet, in place of any other. @throws ServiceError `Wallet already linked` if another has it */
export async function linkWallet(call: Call, userId: string, walletAddress: string): Promise<void> {
  try {
    const [linked] = await call.run(setWallet, { userId, walletAddress, now: call.now });
    if (linked) announce(call.onMessage, linked);
  } catch (error) {
    throw isUniqueViolation(error) ? new ServiceError('WALLET_ALREADY_LINKED') : error;
  }
}

const setWallet: Statement<HasMessages[]> = (db) => {
  const linked = db.$with('linked').as(
    db
      .update(users)
      .set({ walletAddress: sql`${sql.placeholder('walletAddress')}` })
      .where(and(eq(users.id, sql.placeholder('userId')), isActiveUser))
      .returning(userColumns),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`linked`, applicationId: noApplication });
  const message = insertMessages(db, userMessage('user.updated', sql`${linked}`));
  return db.with(linked, audit, message).select({ notifiedIds }).from(linked).prepare('link_wallet');
};
