import type { Call } from '../call.ts';
import { UUID } from '../validation.ts';
import type { AuthTokens } from './auth-tokens.ts';
import type { Browser } from './browser.ts';
import { answerLogin } from './complete-login.ts';
import { findLoginIntent, statusOf } from './login-intent.ts';
import { TOKEN_LIFETIME_SECONDS, toSeconds } from './verify-token.ts';

/** What to show a browser that comes with a login intent. */
export type LoginState =
  | { readonly kind: 'open'; readonly applicationName: string }
  | { readonly kind: 'unknown' | 'expired' | 'completed' }
  /** This browser has completed the intent before: it gets the same answer again, while its token lives. */
  | { readonly kind: 'answered'; readonly redirectUrl: string };

/** What has become of the intent, for this browser; the ID may be anything. */
export async function findLoginState(
  call: Call,
  tokens: AuthTokens,
  browser: Browser,
  loginIntentId: string,
): Promise<LoginState> {
  const intent = UUID.test(loginIntentId) ? await findLoginIntent(call, loginIntentId) : undefined;
  if (!intent) return { kind: 'unknown' };
  const status = statusOf(intent, call.now);
  if (status === 'open') return { kind: 'open', applicationName: intent.applicationName };
  const { completedAt, userId, browserDigest } = intent;
  const isTokenLive = completedAt && toSeconds(call.now) < toSeconds(completedAt) + TOKEN_LIFETIME_SECONDS;
  if (!isTokenLive || !userId || !browserDigest?.equals(browser.digest)) return { kind: status };
  const { redirectUrl } = await answerLogin(tokens, { ...intent, loginIntentId: intent.id, userId, completedAt });
  return { kind: 'answered', redirectUrl };
}
