import type { Call } from '../call.ts';
import { UUID } from '../validation.ts';
import type { AuthTokens } from './auth-tokens.ts';
import type { Browser } from './browser.ts';
import { answerLogin } from './complete-login.ts';
import { findLoginIntent } from './login-intent.ts';
import { LIFETIME_SECONDS, toSeconds } from './verify-token.ts';

/** What to show a browser that comes with a login intent. */
export type LoginState =
  | { readonly kind: 'open'; readonly applicationName: string }
  | { readonly kind: 'unknown' | 'expired' | 'completed' }
  /** This browser has completed the intent before: it gets the same answer again, while its token lives. */
  | { readonly kind: 'answered'; readonly redirectUrl: string };

export async function openLogin(
  call: Call,
  tokens: AuthTokens,
  browser: Browser,
  loginIntentId: string,
): Promise<LoginState> {
  const intent = UUID.test(loginIntentId) ? await findLoginIntent(call, loginIntentId) : undefined;
  if (!intent) return { kind: 'unknown' };
  const { completedAt, userId } = intent;
  if (!completedAt || !userId) {
    if (intent.expiresAt <= call.now) return { kind: 'expired' };
    return { kind: 'open', applicationName: intent.applicationName };
  }
  const isTokenLive = toSeconds(call.now) < toSeconds(completedAt) + LIFETIME_SECONDS;
  if (!isTokenLive || !intent.browserDigest?.equals(browser.digest)) return { kind: 'completed' };
  const { redirectUrl } = await answerLogin(tokens, { ...intent, loginIntentId: intent.id, userId, completedAt });
  return { kind: 'answered', redirectUrl };
}
