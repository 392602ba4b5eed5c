import { TWO_FACTORS } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import type { Browser } from '../sessions/browser.ts';
import { completeByCode, completeEmailLogin, type EmailLoginParts } from './complete-email-login.ts';
import type { Completion } from './complete-login.ts';
import { findLatestCode } from './find-latest-code.ts';
import { toLinkBy } from './find-to-link.ts';
import { requireOpenIntent } from './login-intent.ts';
import { enteredCode } from './read-login-code.ts';
import { isRightCode, requireRightCode } from './require-right-code.ts';

const rules = { loginIntentId: uuid, code: enteredCode };

/**
 * Completes the login if the code is the latest for this intent in this browser. Returns undefined if a new user must
 * give a name first.
 * With `link`, what the code was sent for is linked, as with `createLoginCode`.
 *
 * @throws ServiceError `Wrong code` with the attempts that are left, `Code no longer valid` (after five wrong attempts
 * or 10 minutes), and as `requireOpenIntent` and `completeEmailLogin` do
 */
export async function redeemLoginCode(
  call: Call,
  parts: EmailLoginParts,
  browser: Browser,
  request: Unchecked<keyof typeof rules> & { readonly link?: string },
): Promise<Completion | undefined> {
  const { loginIntentId, code } = check(request, rules);
  const intent = await requireOpenIntent(call, loginIntentId, 'email', TWO_FACTORS);
  const { applicationId } = intent;
  const latest = await findLatestCode(call, { applicationId, loginIntentId, browserDigest: browser.digest });
  if (!latest) throw new ServiceError('CODE_NOT_VALID');
  const wasSent = latest.userId !== null || parts.signUps.allow(intent, latest.email);
  const guessed = { applicationId, loginIntentId, latest, wasSent };
  const login = { browser, intent, code: toLinkBy(latest, request.link ?? '') };
  const isRight = isRightCode(parts.codes, guessed, code);
  const redeemed = isRight ? await completeByCode(call, parts, login) : 'not tried';
  if (redeemed === 'not tried') await requireRightCode(call, guessed, isRight);
  else if (redeemed) return redeemed;
  return completeEmailLogin(call, parts, login);
}
