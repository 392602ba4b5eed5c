import { and, gt, lt, or, sql } from 'drizzle-orm';
import { matches, type Statement } from '../../database/database.ts';
import { loginCodes } from '../../database/login-schema.ts';
import { p } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, text, type Unchecked, uuid } from '../validation.ts';
import type { Browser } from './browser.ts';
import { completeEmailLogin, type EmailLoginParts } from './complete-email-login.ts';
import type { Completion } from './complete-login.ts';
import { ATTEMPTS, findLatestCode } from './find-latest-code.ts';
import { isLoginCode } from './login-code.ts';
import { requireOpenIntent } from './login-intent.ts';

const rules = { loginIntentId: uuid, code: text({ max: 255 }) };

/**
 * Completes the login with the latest code for this intent in this browser. Returns undefined for a new user who
 * must give a name first.
 *
 * @throws ServiceError `Wrong code`, `Code no longer valid` (after five wrong ones or 10 minutes), and as
 * `requireOpenIntent` and `completeEmailLogin` do
 */
export async function redeemLoginCode(
  call: Call,
  parts: EmailLoginParts,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<Completion | undefined> {
  const { loginIntentId, code } = check(request, rules);
  const intent = await requireOpenIntent(call, loginIntentId);
  const { applicationId } = intent;
  const latest = await findLatestCode(call, { applicationId, loginIntentId, browserDigest: browser.digest });
  if (!latest) throw new ServiceError('CODE_NOT_VALID');
  const { id, userId, codeDigest } = latest;
  const wasSent = userId !== null || intent.allowSignUp;
  const isRight = isLoginCode(parts.codes.keys, id, code.replace(/\s/g, ''), codeDigest) && wasSent;
  // Counted before the result is revealed, so that concurrent guesses are all counted.
  const [counted] = await call.run(countAttempt, { applicationId, loginIntentId, id, isRight, now: call.now });
  if (!counted) throw new ServiceError('CODE_NOT_VALID');
  if (!isRight) throw new ServiceError(counted.attempts < ATTEMPTS ? 'WRONG_CODE' : 'CODE_NOT_VALID');
  return completeEmailLogin(call, parts, browser, intent, latest);
}

/** The right code may be sent again: by a double click, or because the login could not be completed the first time. */
const countAttempt: Statement<{ attempts: number }[]> = (db) => {
  const isRight = sql`${sql.placeholder('isRight')}::boolean`;
  return db
    .update(loginCodes)
    .set({
      attempts: sql`least(${loginCodes.attempts} + 1, ${sql.raw(String(ATTEMPTS))})`,
      isRedeemed: sql`${loginCodes.isRedeemed} or ${isRight}`,
    })
    .where(
      and(
        matches(loginCodes, 'applicationId', 'loginIntentId', 'id'),
        or(lt(loginCodes.attempts, ATTEMPTS), and(loginCodes.isRedeemed, isRight)),
        gt(loginCodes.expiresAt, p.instant('now')),
      ),
    )
    .returning({ attempts: loginCodes.attempts })
    .prepare('count_login_code_attempt');
};
