import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { findProvedIdentityById, linkIdentity } from '../providers/link-identity.ts';
import { findUserToSignIn } from '../users/find-user-by-email.ts';
import { markEmailVerified } from '../users/mark-email-verified.ts';
import { linkWallet } from '../users/update-user.ts';
import type { AuthTokens } from './auth-tokens.ts';
import { type Browser, toSignInOrigin } from './browser.ts';
import { type Completion, completeLogin } from './complete-login.ts';
import type { StoredLoginCode } from './find-latest-code.ts';
import { rememberOrigin } from './known-origins.ts';
import type { LoginCodeSettings } from './login-code.ts';
import type { LoginIntent } from './login-intent.ts';
import { signUp } from './sign-up.ts';

export interface EmailLoginParts {
  readonly codes: LoginCodeSettings;
  readonly tokens: AuthTokens;
  /** Called once a wallet can sign in as a user who existed before. */
  readonly onWalletLinked?: (linked: LinkedWallet) => void;
  /** Called once an identity at a provider can. */
  readonly onIdentityLinked?: (linked: LinkedIdentity) => void;
}

interface LinkedWallet {
  readonly intent: LoginIntent;
  /** Of the user. */
  readonly email: string;
  readonly walletAddress: string;
}

interface LinkedIdentity {
  readonly intent: LoginIntent;
  /** Of the user. */
  readonly email: string;
  /** Its ID. */
  readonly provider: string;
}

/**
 * Completes the login of whoever has entered the code: of the user with its e-mail address, or of a new one. Returns
 * undefined if a new user must give a name first.
 *
 * @throws ServiceError `Account closed`, `Wallet already linked`, `Identity already linked`, and as `completeLogin` does
 */
export async function completeEmailLogin(
  call: Call,
  { codes, tokens, onWalletLinked, onIdentityLinked }: EmailLoginParts,
  browser: Browser,
  intent: LoginIntent,
  { userId: knownId, email, walletAddress, identityId }: StoredLoginCode,
  name?: string,
): Promise<Completion | undefined> {
  const { id: loginIntentId, applicationId } = intent;
  const at = { applicationId, loginIntentId, browserDigest: browser.digest };
  const identity = identityId ? await findProvedIdentityById(call, { ...at, id: identityId }) : undefined;
  const how = { method: 'email', ...toSignInOrigin(browser) } as const;
  const completeAs = async (userId: string) => {
    if (walletAddress && (await linkWallet(call, { userId, walletAddress, email })))
      onWalletLinked?.({ intent, email, walletAddress });
    if (identity && (await linkIdentity(call, identity, { userId, email })))
      onIdentityLinked?.({ intent, email, provider: identity.provider });
    return completeLogin(call, tokens, { loginIntentId: intent.id, userId }, how, { email });
  };
  // Somebody may have become a user since the code was sent.
  let userId = knownId ?? (await findUserToSignIn(call, email))?.id;
  let completion: Completion | undefined;
  if (!userId) {
    if (intent.askName && name === undefined) return undefined;
    const user = { email, name: name ?? null, walletAddress: walletAddress ?? '', identity };
    const signedUp = await signUp(call, tokens, intent.id, user, how);
    userId = signedUp?.userId ?? (await findExistingUser(call, user));
    completion = signedUp;
  }
  if (userId) completion ??= await completeAs(userId);
  if (userId) {
    // The login is complete. Without the origin, the user has the limits of a stranger next time.
    const known = [
      markEmailVerified(call, { userId, email }),
      rememberOrigin(call, codes.keys, browser, { userId, email }),
    ];
    await Promise.allSettled(known);
  }
  return completion;
}

/** Returns the ID of the user whom another login has created in the meantime. */
async function findExistingUser(
  call: Call,
  { email, walletAddress, identity }: { email: string; walletAddress: string; identity?: object | undefined },
) {
  const user = await findUserToSignIn(call, email);
  if (user) return user.id;
  // Another user has what this one wanted to sign up with.
  if (identity) throw new ServiceError('IDENTITY_ALREADY_LINKED');
  throw new ServiceError(walletAddress ? 'WALLET_ALREADY_LINKED' : 'USER_NOT_FOUND');
}
