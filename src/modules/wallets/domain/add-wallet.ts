/** Adds a wallet on the account page: the wallet must sign a message. */
import type { Call } from '../../../domain/core/call.ts';
import { check, type Unchecked } from '../../../domain/core/validation.ts';
import { requireRecentSignIn } from '../../../domain/login/recent-sign-in.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { linkWallet } from '../../../domain/users/update-user.ts';
import { addressRules, type ChallengeSettings, createMessage } from './create-wallet-challenge.ts';
import { requireWalletSignature } from './ethereum.ts';
import { signatureRules, withLatestChallenge } from './redeem-wallet-signature.ts';

const STATEMENT = 'Link this wallet to your account.';

/**
 * Creates the message that the wallet must sign, for the user who has just signed in with this intent in this browser.
 *
 * @throws ServiceError `Too many challenges`, and as `requireRecentSignIn` does
 */
export async function createLinkMessage(
  call: Call,
  settings: ChallengeSettings,
  browser: Browser,
  { loginIntentId: given, ...request }: Unchecked<'loginIntentId' | keyof typeof addressRules>,
): Promise<{ message: string }> {
  const { address } = check(request, addressRules);
  const { applicationId, loginIntentId } = await requireRecentSignIn(call, browser, { loginIntentId: given });
  return createMessage(call, settings, browser, { applicationId, loginIntentId, address, statement: STATEMENT });
}

/**
 * Gives the user the wallet that has signed the latest message, and a notice unless the user had it before.
 *
 * @throws ServiceError `Wallet already linked` (to another user), and as `requireWalletSignature` and
 * `requireRecentSignIn` do
 */
export async function addWallet(
  call: Call,
  browser: Browser,
  request: Unchecked<keyof typeof signatureRules>,
): Promise<void> {
  const { loginIntentId, signature } = check(request, signatureRules);
  const signIn = await requireRecentSignIn(call, browser, { loginIntentId });
  const { applicationId, cutoffCount, intent, userId, email } = signIn;
  await withLatestChallenge(call, browser, { applicationId, loginIntentId }, async (challenge) => {
    const { address: walletAddress } = challenge;
    await requireWalletSignature(challenge, signature);
    await linkWallet({ ...call, cutoffCount }, { userId, email, walletAddress }, intent);
  });
}
