import { and, desc, eq, gt, lt, sql } from 'drizzle-orm';
import type { Statement } from '../../db/database.ts';
import { loginCodes } from '../../db/login-schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, text, type Unchecked, uuid } from '../validation.ts';
import type { AuthTokens } from './auth-tokens.ts';
import type { Browser } from './browser.ts';
import { type Completion, completeLogin } from './complete-login.ts';
import { isLoginCode, type LoginCodeKeys } from './login-code.ts';
import { requireOpenIntent } from './login-intent.ts';

const ATTEMPTS = 5;

const rules = { loginIntentId: uuid, code: text({ max: 255 }) };

/**
 * Completes the login with the code that was sent last for this intent in this browser. Throws
 * `Wrong code`, `Code no longer valid` after five wrong ones or 10 minutes, and what requireOpenIntent
 * throws.
 */
export async function redeemLoginCode(
  call: Call,
  { tokens, keys }: { tokens: AuthTokens; keys: LoginCodeKeys },
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<Completion> {
  const { loginIntentId, code } = check(request, rules);
  const { applicationId } = await requireOpenIntent(call, loginIntentId);
  const [attempt] = await call.run(countAttempt, {
    applicationId,
    loginIntentId,
    browserDigest: browser.digest,
    now: call.now,
  });
  if (!attempt) throw new ServiceError('unauthenticated', 'Code no longer valid');
  if (!isLoginCode(keys, attempt.id, code.replace(/\s/g, ''), attempt.codeDigest) || !attempt.userId) {
    const isLast = attempt.attempts >= ATTEMPTS;
    throw new ServiceError('unauthenticated', isLast ? 'Code no longer valid' : 'Wrong code');
  }
  return completeLogin(call, tokens, { loginIntentId, userId: attempt.userId }, browser.digest);
}

/** An attempt is counted before the code is looked at: guesses that race are guesses all the same. */
const countAttempt: Statement<{ id: string; userId: string | null; codeDigest: Buffer; attempts: number }[]> = (db) => {
  const latest = db
    .select({ id: loginCodes.id })
    .from(loginCodes)
    .where(
      and(
        eq(loginCodes.applicationId, sql.placeholder('applicationId')),
        eq(loginCodes.loginIntentId, sql.placeholder('loginIntentId')),
        eq(loginCodes.browserDigest, sql.placeholder('browserDigest')),
      ),
    )
    .orderBy(desc(loginCodes.createdAt))
    .limit(1);
  return db
    .update(loginCodes)
    .set({ attempts: sql`${loginCodes.attempts} + 1` })
    .where(
      and(
        eq(loginCodes.applicationId, sql.placeholder('applicationId')),
        eq(loginCodes.loginIntentId, sql.placeholder('loginIntentId')),
        eq(loginCodes.id, sql`(${latest})`),
        lt(loginCodes.attempts, ATTEMPTS),
        gt(loginCodes.expiresAt, sql.param(sql.placeholder('now'), loginCodes.expiresAt)),
      ),
    )
    .returning({
      id: loginCodes.id,
      userId: loginCodes.userId,
      codeDigest: loginCodes.codeDigest,
      attempts: loginCodes.attempts,
    })
    .prepare('count_login_code_attempt');
};
