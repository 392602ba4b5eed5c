import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { hmac, type LoginCodeKeys } from './login-code.ts';
import { type RateLimit, takePermit } from './rate-limit.ts';

/** Each change stores an event in the audit log, and messages to webhooks. */
const CHANGES: RateLimit = { burst: 60, intervalMs: 60_000 };

/**
 * Takes one of the permits of a person to change their account.
 *
 * @throws ServiceError `Too many changes`
 */
export async function takeChangePermit(call: Call, [key]: LoginCodeKeys, userId: string): Promise<void> {
  if (!(await takePermit(call, hmac(key, `account changes: ${userId}`), CHANGES)))
    throw new ServiceError('TOO_MANY_CHANGES');
}
