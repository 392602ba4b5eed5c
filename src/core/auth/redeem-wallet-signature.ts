import { and, desc, eq, gt, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../db/database.ts';
import { walletChallenges } from '../../db/login-schema.ts';
import { users } from '../../db/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, text, type Unchecked, uuid } from '../validation.ts';
import type { AuthTokens } from './auth-tokens.ts';
import type { Browser } from './browser.ts';
import { type Completion, completeLogin } from './complete-login.ts';
import { recoverSigner } from './ethereum.ts';
import { requireOpenIntent } from './login-intent.ts';

const rules = { loginIntentId: uuid, signature: text({ max: 255 }) };

/**
 * Completes the login with the wallet's signature of the message written last for this intent in
 * this browser; a message is good for one try. Throws `Invalid signature`, `Unknown wallet`, and what
 * requireOpenIntent throws.
 */
export async function redeemWalletSignature(
  call: Call,
  tokens: AuthTokens,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<Completion> {
  const { loginIntentId, signature } = check(request, rules);
  const { applicationId } = await requireOpenIntent(call, loginIntentId);
  const [challenge] = await call.run(takeChallenge, {
    applicationId,
    loginIntentId,
    browserDigest: browser.digest,
    now: call.now,
  });
  if (!challenge || recoverSigner(challenge.message, signature) !== challenge.address) {
    throw new ServiceError('unauthenticated', 'Invalid signature');
  }
  const owners = await call.run(selectOwners, { address: challenge.address });
  const [owner] = owners;
  // A wallet that several users share does not tell which of them this is.
  if (!owner || owners.length > 1) throw new ServiceError('not-found', 'Unknown wallet');
  return completeLogin(call, tokens, { loginIntentId, userId: owner.id }, browser.digest);
}

/** Deletes what it returns: whoever races for a challenge, one gets it. */
const takeChallenge: Statement<{ address: string; message: string }[]> = (db) => {
  const latest = db
    .select({ id: walletChallenges.id })
    .from(walletChallenges)
    .where(
      and(
        eq(walletChallenges.applicationId, sql.placeholder('applicationId')),
        eq(walletChallenges.loginIntentId, sql.placeholder('loginIntentId')),
        eq(walletChallenges.browserDigest, sql.placeholder('browserDigest')),
      ),
    )
    .orderBy(desc(walletChallenges.createdAt))
    .limit(1);
  return db
    .delete(walletChallenges)
    .where(
      and(
        eq(walletChallenges.applicationId, sql.placeholder('applicationId')),
        eq(walletChallenges.loginIntentId, sql.placeholder('loginIntentId')),
        eq(walletChallenges.id, sql`(${latest})`),
        gt(walletChallenges.expiresAt, sql.param(sql.placeholder('now'), walletChallenges.expiresAt)),
      ),
    )
    .returning({ address: walletChallenges.address, message: walletChallenges.message })
    .prepare('take_wallet_challenge');
};

const selectOwners: Statement<{ id: string }[]> = (db) =>
  db
    .select({ id: users.id })
    .from(users)
    .where(and(sql`lower(${users.walletAddress}) = ${sql.placeholder('address')}`, isNull(users.deletedAt)))
    .limit(2)
    .prepare('select_wallet_owners');
