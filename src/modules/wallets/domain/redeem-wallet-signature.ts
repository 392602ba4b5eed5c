import { and, not, sql } from 'drizzle-orm';
import { walletChallenges } from '../../../database/schema/login-schema.ts';
import { users } from '../../../database/schema/schema.ts';
import { type Statement, whereEqual } from '../../../database/sql/statement.ts';
import { p, type RowOfType, statement } from '../../../database/sql/template.ts';
import { allowsMethod } from '../../../domain/applications/branding.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { check, textThat, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { type Completion, completeLogin } from '../../../domain/login/complete-login.ts';
import type { LoginCodeSettings } from '../../../domain/login/login-code.ts';
import { requireOpenIntent } from '../../../domain/login/login-intent.ts';
import { noteSignIn } from '../../../domain/login/note-sign-in.ts';
import { requireRecentSignIn } from '../../../domain/login/recent-sign-in.ts';
import { type Browser, isInBrowser, toSignInOrigin } from '../../../domain/sessions/browser.ts';
import type { AuthTokens } from '../../../domain/tokens/auth-tokens.ts';
import { linkWallet } from '../../../domain/users/update-user.ts';
import { isActiveUser } from '../../../domain/users/user.ts';
import { requireWalletSignature } from './ethereum.ts';

/** The size limit of a form. */
const MAX_CHARACTERS = 8_192;

const signatureRules = {
  loginIntentId: uuid,
  signature: textThat((text) => text.length <= 255 || /^0x[0-9a-f]+$/i.test(text), 'must be hex', {
    max: MAX_CHARACTERS,
    format: 'hex',
  }),
};

export interface WalletLoginParts {
  readonly codes: LoginCodeSettings;
  readonly tokens: AuthTokens;
  /** Whether people can sign in by code. */
  readonly hasEmail: boolean;
}

/**
 * Completes the login with the wallet's signature of the latest message for this intent in this browser. A message is
 * valid for one attempt. Returns undefined if no user has the wallet, but a login by code may link it to one: the page
 * asks for an e-mail address next.
 *
 * @throws ServiceError `Unknown wallet`, and as `requireWalletSignature` and `requireOpenIntent` do
 */
export async function redeemWalletSignature(
  call: Call,
  { tokens, codes, hasEmail }: WalletLoginParts,
  browser: Browser,
  request: Unchecked<keyof typeof signatureRules>,
): Promise<Completion | undefined> {
  const { loginIntentId, signature } = check(request, signatureRules);
  const { applicationId, allowSignUp, branding, expiresAt, locale } = await requireOpenIntent(
    call,
    loginIntentId,
    'wallet',
  );
  return withLatestChallenge(call, browser, { applicationId, loginIntentId }, async (challenge) => {
    const { address } = challenge;
    await requireWalletSignature(challenge, signature);
    const [owner] = await call.run(selectWalletUser, { address });
    if (!owner && allowSignUp && hasEmail && allowsMethod(branding, 'email')) {
      await call.run(markProved, { applicationId, loginIntentId, id: challenge.id, expiresAt });
      return undefined;
    }
    if (!owner) throw new ServiceError('UNKNOWN_WALLET');
    const how = { method: 'wallet', ...toSignInOrigin(browser) } as const;
    const proved = { walletAddress: address };
    const userId = owner.id;
    const completion = await completeLogin(call, tokens, { loginIntentId, userId }, { how, proved });
    await noteSignIn(call, codes.keys, browser, { applicationId, locale, userId });
    return completion;
  });
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

/**
 * Runs the work with the latest message for this login in this browser.
 *
 * @throws ServiceError `Invalid signature` if there is none
 */
async function withLatestChallenge<Result>(
  { run, now }: Call,
  browser: Browser,
  login: { readonly applicationId: string; readonly loginIntentId: string },
  work: (challenge: WalletChallenge) => Promise<Result>,
): Promise<Result> {
  const [challenge] = await run(selectLatestChallenge, { ...login, browserDigest: browser.digest, now });
  if (!challenge) throw new ServiceError('INVALID_SIGNATURE');
  try {
    return await work(challenge);
  } finally {
    // Deleted last: the second request of a double click must find the message while the login is open. If this fails,
    // the expiry job removes the message.
    await run(deleteChallenge, { ...login, id: challenge.id }).catch(() => {});
  }
}

/** A message that a wallet has to sign. Its address is in lower case. */
type WalletChallenge = RowOfType<typeof CHALLENGE>;

const { id, address, message, isProved } = walletChallenges;
const CHALLENGE = { id, address, message };

const selectLatestChallenge = statement('select_latest_wallet_challenge', CHALLENGE)`
  select id, address, message from wallet_challenges
  where ${isInBrowser} and not is_proved and expires_at > ${p.instant('now')}
  order by created_at desc
  -- Equivalent: limit: the others are not looked at
  limit 1`;

const isChallenge = whereEqual(walletChallenges, 'applicationId', 'loginIntentId', 'id');

const deleteChallenge: Statement<unknown> = (db) =>
  db
    .delete(walletChallenges)
    .where(and(isChallenge, not(isProved)))
    .prepare('delete_wallet_challenge');

const markProved: Statement<unknown> = (db) =>
  db
    .update(walletChallenges)
    .set({ isProved: true, expiresAt: p.instant('expiresAt') })
    .where(isChallenge)
    .prepare('mark_wallet_proved');

const selectWalletUser: Statement<{ id: string }[]> = (db) =>
  db
    .select({ id: users.id })
    .from(users)
    .where(and(sql`lower(${users.walletAddress}) = ${sql.placeholder('address')}`, isActiveUser))
    .prepare('select_wallet_owner');
