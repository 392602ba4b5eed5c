import { users } from '../../database/schema/schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { type Browser, hasCompleted } from '../sessions/browser.ts';
import { isStillHere } from '../sessions/browser-cutoffs.ts';
import { isSignInAfterEveryCutoff } from '../sessions/cutoffs.ts';
import { isReplaced } from './find-login-state.ts';
import { findLoginIntent, type LoginIntent, statusOf } from './login-intent.ts';
import { RECENT_MINUTES } from './sign-in-age.ts';

const LIFETIME_MS = RECENT_MINUTES * 60_000;

export const signInRules = { loginIntentId: uuid };

/** A sign-in of the last 10 minutes in this browser. It entitles the user to change passkeys. */
export interface RecentSignIn {
  readonly loginIntentId: string;
  readonly applicationId: string;
  readonly intent: LoginIntent;
  readonly userId: string;
  readonly completedAt: Date;
  readonly email: string;
  readonly name: string | null;
  /** For `Call` when the user then makes a change. */
  readonly cutoffCount: number;
}

/**
 * Returns the sign-in that completed the intent, if it was in this browser and less than 10 minutes ago.
 *
 * @throws ServiceError `Login intent not found`, `Login intent already completed` (in another browser), `Login intent
 * expired` (10 minutes ago or earlier, by a remembered sign-in, or ended by a revocation, a sign-out, or a sign-in of
 * somebody else in this browser)
 */
export async function requireRecentSignIn(
  call: Call,
  browser: Browser,
  request: Unchecked<keyof typeof signInRules>,
): Promise<RecentSignIn> {
  const { loginIntentId } = check(request, signInRules);
  const intent = await findLoginIntent(call, loginIntentId);
  if (!intent || statusOf(intent, call.now) === 'open') throw new ServiceError('LOGIN_INTENT_NOT_FOUND');
  const { applicationId, completedAt, userId } = intent;
  // Equivalent: condition: an open login has neither
  if (!completedAt || !userId) throw new ServiceError('LOGIN_INTENT_EXPIRED');
  if (!hasCompleted(browser, intent)) throw new ServiceError('LOGIN_INTENT_COMPLETED');
  // A remembered sign-in does not prove who is at the browser now. After `extendCode`, the user has left these pages.
  if (intent.authenticatedAt) throw new ServiceError('LOGIN_INTENT_EXPIRED');
  if (call.now.getTime() - completedAt.getTime() >= LIFETIME_MS) throw new ServiceError('LOGIN_INTENT_EXPIRED');
  const parameters = { userId, applicationId, completedAt, browserDigest: browser.digest };
  const [user] = await call.run(selectSignedIn, parameters);
  if (!user || (await isReplaced(call, browser, { ...intent, userId }))) throw new ServiceError('LOGIN_INTENT_EXPIRED');
  return { loginIntentId, applicationId, intent, userId, completedAt, ...user };
}

/** Returns undefined where `requireRecentSignIn` throws a `ServiceError`. */
export function findRecentSignIn(...args: Parameters<typeof requireRecentSignIn>): Promise<RecentSignIn | undefined> {
  return requireRecentSignIn(...args).catch((error: unknown) => {
    if (error instanceof ServiceError) return undefined;
    throw error;
  });
}

const { email, name, cutoffCount } = users;

const selectSignedIn = statement('select_signed_in_user', { email, name, cutoffCount })`
  select email, name, cutoff_count from users
  where ${isSignInAfterEveryCutoff(p.instant('completedAt'))} and ${isStillHere(p.instant('completedAt'))}`;
