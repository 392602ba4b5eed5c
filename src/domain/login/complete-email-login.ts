import { sql } from 'drizzle-orm';
import { statement } from '../../database/sql/template.ts';
import { ONE_FACTOR } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { findProvedIdentityById, linkIdentity } from '../identities/link-identity.ts';
import { type Browser, toSignInOrigin } from '../sessions/browser.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { BY_CODE } from '../users/counts-from.ts';
import { findUserToSignIn } from '../users/find-user-by-email.ts';
import { markEmailVerified, verifiedEmail } from '../users/mark-email-verified.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { linkWallet } from '../users/update-user.ts';
import {
  answerCompletion,
  type Completion,
  completeLogin,
  completionByProof,
  completionParameters,
} from './complete-login.ts';
import { COMPLETED_INTENT, completedIntent } from './completed-intent.ts';
import type { StoredLoginCode } from './find-latest-code.ts';
import { findFactorOwner } from './held-sign-in.ts';
import { originParameters, rememberOrigin, upsertOrigins } from './known-origins.ts';
import type { LoginCodeSettings } from './login-code.ts';
import type { LoginIntent } from './login-intent.ts';
import { provingUser } from './record-attempt.ts';
import { countedAttempt, refuseLateCode } from './require-right-code.ts';
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
 * Counts the attempt with the right code, and completes the login, in one statement: that of a user who is known, links
 * nothing, and needs nobody's leave. Any other login is `not tried`. Returns undefined if the attempt is counted, and the
 * login not completed.
 *
 * @throws ServiceError `Code no longer valid`
 */
export async function completeByCode(
  call: Call,
  { codes, tokens }: EmailLoginParts,
  { browser, intent, code }: EmailLogin,
): Promise<Completion | undefined | 'not tried'> {
  const { id: loginIntentId, applicationId, restrictAccess } = intent;
  const { id, userId, email, walletAddress, identityId } = code;
  if (walletAddress || identityId) return 'not tried';
  // Equivalent: guard, condition: the statement would leave the login open
  if (!userId || restrictAccess) return 'not tried';
  const how = { method: 'email', ...toSignInOrigin(browser) } as const;
  const login = { loginIntentId, userId, assurance: ONE_FACTOR, onBehalfBy: null };
  const rows = await call.run(redeemCode, {
    ...completionParameters(call, login, { how, proved: { email } }),
    ...originParameters(call, codes.keys, browser, email),
    applicationId,
    id,
    isRight: true,
  });
  if (!rows) return 'not tried';
  const [completed] = rows;
  if (!completed) throw refuseLateCode(code, call.now);
  if ((completed.applicationId as string | null) === null) return undefined;
  await removeIfErased(call, userId).catch(() => {});
  return provingUser(userId, () => answerCompletion(call, tokens, { ...how, ...login, ...completed }));
}

/** Has no row if the code is no longer valid, and one without an application if the login cannot be completed. */
const redeemCode = statement('redeem_login_code', COMPLETED_INTENT).ifWhole`
  with counted as (${countedAttempt}
  ), ${completedIntent({ ...completionByProof, condition: sql`exists (select 1 from counted)` })},
  verified as (${verifiedEmail} and exists (select 1 from completed)
  ), remembered as (${upsertOrigins(sql`from completed`)}
  )
  select completed.* from counted left join completed on true`;

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
      // With a second factor, whoever reads the e-mails has shown too little to add another way to sign in.
      const mayLink = (walletAddress || identity) && !(await findFactorOwner(call, userId))?.hasSecondFactor;
      if (mayLink && walletAddress) await linkWallet(call, { userId, walletAddress, email }, intent);
      if (mayLink && identity) await linkIdentity(call, identity, { userId, email }, { ...BY_CODE, origin: intent });
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
