import type { Call } from '../call.ts';
import { isCodeLive, isOidcIntent } from '../oidc/authorization-answer.ts';
import { UUID } from '../validation.ts';
import type { AuthTokens } from './auth-tokens.ts';
import type { Browser } from './browser.ts';
import { answerLogin } from './complete-login.ts';
import { findLoginIntent, type LoginIntent, statusOf } from './login-intent.ts';
import { TOKEN_LIFETIME_SECONDS, toSeconds } from './verify-token.ts';

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
  if (!completedAt || !isAnswerLive({ ...intent, completedAt }, call.now)) return { ...intent, kind: status };
  if (!userId || !method || !browserDigest?.equals(browser.digest)) return { ...intent, kind: status };
  const { redirectUrl } = await answerLogin(tokens, {
    ...intent,
    loginIntentId: intent.id,
    userId,
    method,
    completedAt,
  });
  return { kind: 'answered', redirectUrl };
}

/** Returns whether the code or auth token is valid. A code works once, and for a shorter time. */
function isAnswerLive(intent: LoginIntent & { readonly completedAt: Date }, now: Date): boolean {
  if (isOidcIntent(intent)) return isCodeLive(intent, now);
  return toSeconds(now) < toSeconds(intent.completedAt) + TOKEN_LIFETIME_SECONDS;
}
