import { TWO_FACTORS } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, type Unchecked, uuid } from '../core/validation.ts';
import type { Browser } from '../sessions/browser.ts';
import { completeEmailLogin, type EmailLoginParts } from './complete-email-login.ts';
import type { Completion } from './complete-login.ts';
import { findLatestCode } from './find-latest-code.ts';
import { toLinkBy } from './find-to-link.ts';
import { requireOpenIntent } from './login-intent.ts';

const rules = { loginIntentId: uuid, name: identifier };

/**
 * Completes the login of a new user who has entered the code and gives a name. With `link`, what the code was sent for
 * is linked, as with `createLoginCode`.
 *
 * @throws ServiceError `Code no longer valid`, and as `requireOpenIntent` and `completeEmailLogin` do
 */
export async function nameNewUser(
  call: Call,
  parts: EmailLoginParts,
  browser: Browser,
  request: Unchecked<keyof typeof rules> & { readonly link?: string },
): Promise<Completion> {
  const { loginIntentId, name } = check(request, rules);
  const intent = await requireOpenIntent(call, loginIntentId, 'email', TWO_FACTORS);
  const { applicationId } = intent;
  const latest = await findLatestCode(call, { applicationId, loginIntentId, browserDigest: browser.digest });
  const isEntered = latest?.isRedeemed && latest.expiresAt > call.now;
  if (!isEntered || !(latest.userId !== null || parts.signUps.allow(intent, latest.email)))
    throw new ServiceError('CODE_NOT_VALID');
  const code = toLinkBy(latest, request.link ?? '');
  const completion = await completeEmailLogin(call, parts, { browser, intent, code, name });
  // Equivalent: guard: only without a name there is none
  if (!completion) throw new ServiceError('CODE_NOT_VALID');
  return completion;
}
