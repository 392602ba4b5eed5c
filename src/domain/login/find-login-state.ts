import { sql } from 'drizzle-orm';
import { loginIntents } from '../../database/schema/intent-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { UUID } from '../core/validation.ts';
import { type Browser, hasCompleted } from '../sessions/browser.ts';
import { isStillHere } from '../sessions/browser-cutoffs.ts';
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
  const { completedAt, userId, method } = intent;
  if (!completedAt || !isAnswerLive(tokens, { ...intent, completedAt }, call.now)) return { ...intent, kind: status };
  // Equivalent: guard: nothing is found of nobody
  if (!userId) return { ...intent, kind: status };
  if (!method || !hasCompleted(browser, intent)) return { ...intent, kind: status };
  if (!(await isSignInLive(call, browser, { ...intent, userId, completedAt }))) return { ...intent, kind: status };
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

/** A login that a page of Usher continues after its completion. */
type ContinuedLogin = Pick<
  LoginIntent & { userId: string; completedAt: Date },
  'applicationId' | 'userId' | 'browserDigest' | 'answerDigest' | 'authenticatedAt' | 'completedAt'
>;

/**
 * Returns whether nothing has ended the sign-in: no revocation, no sign-out in this browser, and no later sign-in of
 * somebody else there. A page other than Usher's knows no browser.
 */
export async function isSignInLive(call: Call, browser: KnownAnswers, login: ContinuedLogin): Promise<boolean> {
  const [live] = await call.run(selectSignedIn, signInOf(login));
  return live !== undefined && !(await isReplaced(call, browser, login));
}

/** Returns the parameters of `liveSignIn`. */
export function signInOf({ applicationId, userId, browserDigest, authenticatedAt, completedAt }: ContinuedLogin) {
  return { applicationId, userId, browserDigest, authenticatedAt: authenticatedAt ?? completedAt };
}

/** The condition that no revocation and no sign-out has ended a sign-in of the row of `users`. */
const isLiveSignIn = sql`${isSignInAfterEveryCutoff(p.instant('authenticatedAt'))}
  and ${isStillHere(p.instant('authenticatedAt'))}`;

/** A CTE with a row for a live sign-in, because its tables may be on other servers than the login that reads it. */
export const liveSignIn = {
  cte: sql`live as (
    select id from users where ${isLiveSignIn}
  )`,
  isThere: sql`exists (select 1 from live)`,
};

const selectSignedIn = statement('select_signed_in')`select from users where ${isLiveSignIn}`;

type KnownAnswers = Pick<Browser, 'answerDigest' | 'knownAnswers'>;

/** Returns whether somebody else has signed in here since. A browser knows its last logins, the newest first. */
export async function isReplaced(
  { run }: Call,
  { knownAnswers, ...browser }: KnownAnswers,
  { userId, browserDigest, answerDigest }: Pick<ContinuedLogin, 'userId' | 'browserDigest' | 'answerDigest'>,
): Promise<boolean> {
  const at = knownAnswers.findIndex((answer) => answerDigest?.equals(answer));
  const newer = at < 0 ? knownAnswers : knownAnswers.slice(0, at);
  const isOfThisRequest = answerDigest?.equals(browser.answerDigest);
  if (!browserDigest || isOfThisRequest || newer.length === 0) return false;
  const own = await run(selectOwnAnswers, { userId, browserDigest });
  return newer.some((answer) => !own.some((each) => each.answerDigest?.equals(answer)));
}

const selectOwnAnswers = statement('select_own_answers', { answerDigest: loginIntents.answerDigest })`
  select answer_digest from login_intents
  where user_id = ${p.uuid('userId')} and browser_digest = ${p.bytes('browserDigest')}`;
