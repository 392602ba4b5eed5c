import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { UUID } from '../core/validation.ts';
import type { Browser } from '../sessions/browser.ts';
import { RECENT_MINUTES } from './sign-in-age.ts';

/**
 * Extends the code of a login by another minute, once: the browser was on a page of passkeys or recovery codes after the sign-in, and
 * returns to the application only now. The instant of the sign-in stays the same.
 */
export async function extendCode({ run, now }: Call, { digest }: Browser, loginIntentId: string): Promise<void> {
  if (!UUID.test(loginIntentId)) return;
  const completedAfter = new Date(now.getTime() - RECENT_MINUTES * 60_000);
  await run(extend, { loginIntentId, browserDigest: digest, now, completedAfter });
}

const extend = statement('extend_oidc_code')`
  update login_intents set completed_at = ${p.instant('now')}, authenticated_at = completed_at
  where id = ${p.uuid('loginIntentId')} and browser_digest = ${p.bytes('browserDigest')} and response_mode <> ''
    and redeemed_at is null and authenticated_at is null and completed_at > ${p.instant('completedAfter')}`;
