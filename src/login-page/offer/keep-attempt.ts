import type { ServiceError } from '../../domain/core/errors.ts';
import { type AttemptReason, attemptReasonOf, recordAttempt } from '../../domain/login/record-attempt.ts';
import { shortenUserAgent } from '../../domain/sessions/browser.ts';
import { nameBrowser } from '../pages/describe-sign-in.ts';
import type { LoginRequest } from './login-request.ts';

interface ShownAttempt {
  readonly method?: string | undefined;
  readonly userId?: string | null | undefined;
}

/**
 * Keeps a sign-in that failed or was refused. Call it after the answer was sent, so that the time of the answer reveals
 * nothing.
 */
export async function keepAttempt(
  { call, browser, fields, parts }: LoginRequest,
  reason: AttemptReason,
  { method, userId = null }: ShownAttempt = {},
): Promise<void> {
  // The last wrong code has a count of its own.
  if (reason !== 'WRONG_CODES') call.count?.('refused_sign_ins');
  const { address: ipAddress, userAgent } = browser;
  const knownProvider = parts.providers.nameOf(fields.provider) && fields.provider;
  await recordAttempt(call, parts.codes, {
    loginIntentId: fields.loginIntentId,
    reason,
    userId,
    method: (method === 'provider' ? knownProvider : method) || null,
    ipAddress,
    // A whole user agent may be one person's, whose erasure could not find it.
    userAgent: userId === null ? nameBrowser(userAgent) : shortenUserAgent(userAgent),
  });
}

/** The page that follows keeps these, unless this browser has completed the login before. */
const OF_NEXT_PAGE: readonly AttemptReason[] = ['LOGIN_INTENT_COMPLETED', 'LOGIN_INTENT_EXPIRED'];

/** Keeps the sign-in that the error has refused, by the method of the form. */
export async function keepRefusal(request: LoginRequest, method: string, error: ServiceError): Promise<void> {
  const reason = attemptReasonOf(error);
  if (!reason || OF_NEXT_PAGE.includes(reason)) return;
  await keepAttempt(request, reason, { method: error.attempt?.method ?? method, userId: error.attempt?.userId });
}
