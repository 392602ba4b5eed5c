import type { Call } from '../core/call.ts';
import { type ErrorReason, ServiceError } from '../core/errors.ts';
import type { Browser } from '../sessions/browser.ts';
import { hmac, type LoginCodeSettings } from './login-code.ts';
import { networkOf, siteOf } from './network.ts';
import { type RateLimit, takePermit } from './rate-limit.ts';

/** A limit on what one network may do, and one on the larger site around it. */
export interface SharedLimit {
  /** What is limited, as a part of the key of the bucket. */
  readonly subject: string;
  readonly perNetwork: RateLimit;
  readonly perSite: RateLimit;
  readonly reason: ErrorReason;
}

/**
 * Takes a permit of the browser's network and one of its site.
 *
 * @throws ServiceError `reason` if one of them has none left
 */
export async function takeNetworkPermits(
  call: Call,
  { keys, limitFactor }: LoginCodeSettings,
  { address }: Browser,
  { subject, perNetwork, perSite, reason }: SharedLimit,
): Promise<void> {
  const limits = [
    [networkOf(address), perNetwork],
    [siteOf(address), perSite],
  ] as const;
  for (const [place, { burst, intervalMs }] of limits) {
    const key = hmac(keys[0], `${subject}: ${place}`);
    if (!(await takePermit(call, key, { burst: burst * limitFactor, intervalMs }))) throw new ServiceError(reason);
  }
}
