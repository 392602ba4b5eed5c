import { and, desc, gt } from 'drizzle-orm';
import { matches, type Statement } from '../../database/database.ts';
import { walletChallenges } from '../../database/login-schema.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import type { Call } from '../call.ts';

/** Returns the address of the wallet without a user that this browser has proved to have at this login. */
export async function findProvedWallet(
  { run, now }: Call,
  where: { applicationId: string; loginIntentId: string; browserDigest: Buffer },
): Promise<string | null> {
  const [proved] = await run(selectProvedWallet, { ...where, now });
  return proved?.address ?? null;
}

const selectProvedWallet: Statement<{ address: string }[]> = (db) =>
  db
    .select({ address: walletChallenges.address })
    .from(walletChallenges)
    .where(
      and(
        matches(walletChallenges, 'applicationId', 'loginIntentId', 'browserDigest'),
        walletChallenges.isProved,
        gt(walletChallenges.expiresAt, instantPlaceholder('now')),
      ),
    )
    .orderBy(desc(walletChallenges.createdAt))
    .limit(1)
    .prepare('select_proved_wallet');
