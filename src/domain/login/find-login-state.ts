import { p, statement } from '../../database/template.ts';
import type { Call } from '../core/call.ts';
import { UUID } from '../core/validation.ts';
import { type Browser, hasCompleted } from '../sessions/browser.ts';
import { isSignedInHere } from '../sessions/browser-cutoffs.ts';
import { isSignInAfterEveryCutoff } from '../sessions/cutoffs.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { TOKEN_LIFETIME_SECONDS, toSeconds } from '../tokens/verify-token.ts';
import { answerLogin } from './complete-login.ts';
import { findLoginIntent, type LoginIntent, statusOf } from './login-intent.ts';

export type LoginState =
  | (LoginIntent & { readonly kind: 'open' | 'expired' | 'completed' })
  | { readonly kind: 'unknown'; readonly locale?: undefined }
  /** This browser has completed the intent. It gets the same answer again while the auth token or the code is valid. */
  | { readonly kind: 'answered'; readonly redirectUrl: string };

/** Returns the state of the intent for this browser. The ID may be any text. */
export async function findLoginState(
  call: Call,
  tokens: AuthTokens,
  browser: Browser,
  loginIntentId: string,
): Promise<LoginState> {
  const intent = UUID.test(loginIntentId) ? await findLoginIntent(call, loginIntentId) : undefined;
  if (!intent) return { kind: 'unknown' };
  const status = statusOf(intent, call.now);
  if (status === 'open') return { ...intent, kind: status };
  const { completedAt, userId, method, browserDigest } = intent;
  if (!completedAt || !isAnswerLive(tokens, { ...intent, completedAt }, call.now)) return { ...intent, kind: status };
  if (!userId || !method || !browserDigest || !hasCompleted(browser, intent)) return { ...intent, kind: status };
  if (!(await isSignInLive(call, { ...intent, userId, browserDigest, completedAt })))
    return { ...intent, kind: status };
  const { redirectUrl } = await answerLogin(tokens, {
    ...intent,
    loginIntentId: intent.id,
    userId,
    method,
    completedAt,
  });
  return { kind: 'answered', redirectUrl };
}

/**
 * Returns whether the code or auth token is valid. A code works once, and for a shorter time. The auth token of the
 * account page works once, too.
 */
function isAnswerLive(tokens: AuthTokens, intent: LoginIntent & { readonly completedAt: Date }, now: Date): boolean {
  const protocol = tokens.protocolOf(intent);
  if (protocol) return protocol.isLive(intent, now);
  if (intent.redeemedAt) return false;
  return toSeconds(now) < toSeconds(intent.completedAt) + TOKEN_LIFETIME_SECONDS;
}

/** Returns whether nothing has ended the sign-in: no revocation, and no sign-out in this browser. */
export async function isSignInLive(
  { run }: Call,
  {
    applicationId,
    userId,
    browserDigest,
    authenticatedAt,
    completedAt,
  }: {
    readonly applicationId: string;
    readonly authenticatedAt: Date | null;
    readonly userId: string;
    readonly browserDigest: Buffer;
    readonly completedAt: Date;
  },
): Promise<boolean> {
  const signedInAt = authenticatedAt ?? completedAt;
  const rows = await run(selectSignedIn, { applicationId, userId, browserDigest, authenticatedAt: signedInAt });
  return rows.length > 0;
}

const selectSignedIn = statement('select_signed_in')`
  select from users
  where ${isSignInAfterEveryCutoff(p.instant('authenticatedAt'))} and ${isSignedInHere(p.instant('authenticatedAt'))}`;
