import { and, eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { isUniqueViolation } from '../../database/errors.ts';
import { users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { isActiveUser } from './active-user.ts';

/** Gives the user the wallet, in place of any other. @throws ServiceError `Wallet already linked` if another has it */
export async function linkWallet({ run }: Call, userId: string, walletAddress: string): Promise<void> {
  try {
    await run(setWallet, { userId, walletAddress });
  } catch (error) {
    throw isUniqueViolation(error) ? new ServiceError('WALLET_ALREADY_LINKED') : error;
  }
}

const setWallet: Statement<unknown> = (db) => {
  const linked = db.$with('linked').as(
    db
      .update(users)
      .set({ walletAddress: sql`${sql.placeholder('walletAddress')}` })
      .where(and(eq(users.id, sql.placeholder('userId')), isActiveUser))
      .returning({ id: users.id }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`linked`, applicationId: noApplication });
  return db.with(linked, audit).select().from(linked).prepare('link_wallet');
};
