import { desc } from 'drizzle-orm';
import { type RowOf, type Statement, whereEqual } from '../../database/database.ts';
import { loginCodes } from '../../database/login-schema.ts';
import type { Call } from '../call.ts';

/** A code may be tried so often. */
export const ATTEMPTS = 5;

const columns = {
  id: loginCodes.id,
  userId: loginCodes.userId,
  email: loginCodes.email,
  walletAddress: loginCodes.walletAddress,
  identityId: loginCodes.identityId,
  codeDigest: loginCodes.codeDigest,
  sends: loginCodes.sends,
  isUnsent: loginCodes.isUnsent,
  attempts: loginCodes.attempts,
  isRedeemed: loginCodes.isRedeemed,
  createdAt: loginCodes.createdAt,
  expiresAt: loginCodes.expiresAt,
};

export type StoredLoginCode = RowOf<typeof columns>;

/** Returns the latest code for this intent in this browser. */
export async function findLatestCode(
  { run }: Call,
  where: { applicationId: string; loginIntentId: string; browserDigest: Buffer },
): Promise<StoredLoginCode | undefined> {
  const [latest] = await run(selectLatestCode, where);
  return latest;
}

const selectLatestCode: Statement<StoredLoginCode[]> = (db) =>
  db
    .select(columns)
    .from(loginCodes)
    .where(whereEqual(loginCodes, 'applicationId', 'loginIntentId', 'browserDigest'))
    .orderBy(desc(loginCodes.createdAt))
    .limit(1)
    .prepare('select_latest_login_code');
