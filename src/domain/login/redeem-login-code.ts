import { sql } from 'drizzle-orm';
import { loginCodes } from '../../database/login-schema.ts';
import { p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, text, type Unchecked, uuid } from '../validation.ts';
import type { Browser } from './browser.ts';
import { completeEmailLogin, type EmailLoginParts } from './complete-email-login.ts';
import type { Completion } from './complete-login.ts';
import { ATTEMPTS, findLatestCode } from './find-latest-code.ts';
import { isLoginCode } from './login-code.ts';
import { requireOpenIntent } from './login-intent.ts';
import { readLoginCode } from './read-login-code.ts';

/** Long enough for the text of the e-mail around the code. */
const rules = { loginIntentId: uuid, code: text({ max: 1_000 }) };

/**
 * Completes the login with the latest code for this intent in this browser. Returns undefined for a new user who
 * must give a name first.
 *
 * @throws ServiceError `Wrong code` with the attempts that are left, `Code no longer valid` (after five wrong ones or 10
 * minutes), and as `requireOpenIntent` and `completeEmailLogin` do
 */
export async function redeemLoginCode(
  call: Call,
  parts: EmailLoginParts,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<Completion | undefined> {
  const { loginIntentId, code } = check(request, rules);
  const intent = await requireOpenIntent(call, loginIntentId, 'email');
  const { applicationId } = intent;
  const latest = await findLatestCode(call, { applicationId, loginIntentId, browserDigest: browser.digest });
  if (!latest) throw new ServiceError('CODE_NOT_VALID');
  const { id, userId, codeDigest } = latest;
  const wasSent = userId !== null || intent.allowSignUp;
  const isRight = isLoginCode(parts.codes.keys, id, readLoginCode(code), codeDigest) && wasSent;
  // Counted before the result is revealed, so that concurrent guesses are all counted.
  const [counted] = await call.run(countAttempt, { applicationId, loginIntentId, id, isRight, now: call.now });
  if (!counted) throw new ServiceError('CODE_NOT_VALID');
  const left = ATTEMPTS - counted.attempts;
  if (!isRight)
    throw left > 0 ? new ServiceError('WRONG_CODE', { figures: { left } }) : new ServiceError('CODE_NOT_VALID');
  return completeEmailLogin(call, parts, browser, intent, latest);
}

/** The right code may be sent again: by a double click, or because the login could not be completed the first time. */
const countAttempt = statement('count_login_code_attempt', { attempts: loginCodes.attempts })`
  update login_codes
  set attempts = least(attempts + 1, ${sql.raw(String(ATTEMPTS))}),
    is_redeemed = is_redeemed or ${p.boolean('isRight')}
  where application_id = ${p.uuid('applicationId')} and login_intent_id = ${p.uuid('loginIntentId')}
    and id = ${p.uuid('id')} and expires_at > ${p.instant('now')}
    and (attempts < ${sql.raw(String(ATTEMPTS))} or is_redeemed and ${p.boolean('isRight')})
  returning attempts`;
