import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { findProvedIdentityById, linkIdentity } from '../identities/link-identity.ts';
import { type Browser, toSignInOrigin } from '../sessions/browser.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { findUserToSignIn } from '../users/find-user-by-email.ts';
import { markEmailVerified } from '../users/mark-email-verified.ts';
import { linkWallet } from '../users/update-user.ts';
import { type Completion, completeLogin } from './complete-login.ts';
import type { StoredLoginCode } from './find-latest-code.ts';
import { rememberOrigin } from './known-origins.ts';
import type { LoginCodeSettings } from './login-code.ts';
import type { LoginIntent } from './login-intent.ts';
import { provingUser } from './record-attempt.ts';
import { signUp } from './sign-up.ts';
import type { SignUpRules } from './sign-up-rules.ts';

export interface EmailLoginParts {
  readonly codes: LoginCodeSettings;
  readonly tokens: AuthTokens;
  readonly signUps: SignUpRules;
}

interface EmailLogin {
  readonly browser: Browser;
  readonly intent: LoginIntent;
  /** The code that was entered, with what it links. */
  readonly code: StoredLoginCode;
  /** The name that a new user has given. */
  readonly name?: string;
}

/**
 * Completes the login of the person who entered the code, as the user with the e-mail address of the code or as a new
 * user. Returns undefined if a new user must give a name first.
 *
 * @throws ServiceError `Account closed`, `Wallet already linked`, `Identity already linked`, and as `completeLogin`
 * does
 */
export async function completeEmailLogin(
  call: Call,
  { codes, tokens, signUps }: EmailLoginParts,
  { browser, intent, code, name }: EmailLogin,
): Promise<Completion | undefined> {
  const { id: loginIntentId, applicationId } = intent;
  const { userId: knownId, email, walletAddress, identityId } = code;
  const at = { applicationId, loginIntentId, browserDigest: browser.digest };
  const identity = identityId ? await findProvedIdentityById(call, { ...at, id: identityId }) : undefined;
  const how = { method: 'email', ...toSignInOrigin(browser) } as const;
  const completeAs = (userId: string) =>
    provingUser(userId, async () => {
      if (walletAddress) await linkWallet(call, { userId, walletAddress, email }, intent);
      if (identity) await linkIdentity(call, identity, { userId, email }, intent);
      return completeLogin(call, tokens, { loginIntentId, userId }, { how, proved: { email } });
    });
  // Another login may have created a user with this address since the code was sent.
  let userId = knownId ?? (await findUserToSignIn(call, email))?.id;
  let completion: Completion | undefined;
  if (!userId) {
    if (intent.askName && name === undefined) return undefined;
    const user = { email, name: name ?? null, walletAddress: walletAddress ?? '', identity };
    const signedUp = await signUp(call, { tokens, signUps }, loginIntentId, user, how);
    userId = signedUp?.userId ?? (await findExistingUser(call, user));
    completion = signedUp;
  }
  completion ??= await completeAs(userId);
  // The login is complete, so errors are ignored. Without the origin, the next login has the limits of a stranger.
  await Promise.allSettled([
    markEmailVerified(call, { userId, email }),
    rememberOrigin(call, codes.keys, browser, { userId, email }),
  ]);
  return completion;
}

/**
 * Returns the ID of the user whom a concurrent login created with the same e-mail address.
 *
 * @throws ServiceError if there is none: the sign-up failed for another reason
 */
async function findExistingUser(
  call: Call,
  { email, walletAddress, identity }: { email: string; walletAddress: string; identity?: object | undefined },
) {
  const user = await findUserToSignIn(call, email);
  if (user) return user.id;
  // Most likely, another user has had the identity or the wallet since this browser proved to have it.
  if (identity) throw new ServiceError('IDENTITY_ALREADY_LINKED');
  throw new ServiceError(walletAddress ? 'WALLET_ALREADY_LINKED' : 'USER_NOT_FOUND');
}
