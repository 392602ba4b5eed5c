/** Remembers where somebody signed in without a code, and tells the user of a place that is new. */

import { users } from '../../database/schema/schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { hmac } from '../crypto/derived-keys.ts';
import { noticeParameters, noticeToUser } from '../notices/store-notice.ts';
import type { Browser } from '../sessions/browser.ts';
import { findFamiliarity, rememberOrigin } from './known-origins.ts';
import type { LoginCodeKeys } from './login-code.ts';
import { ONCE_A_DAY, takePermit } from './rate-limit.ts';

interface SignIn {
  readonly userId: string;
  readonly applicationId: string;
  /** The languages that the application wants. */
  readonly locale: string | null;
}

/**
 * Remembers the browser and its network. If both are new to a user who has signed in by passkey, wallet or provider, the
 * user gets a notice, at most once a day. After a sign-in by code, the mailbox has just got an e-mail. The login is
 * complete, so errors are ignored: without the origin, the next code has the limits of a stranger.
 */
export async function noteSignIn(call: Call, keys: LoginCodeKeys, browser: Browser, signIn: SignIn): Promise<void> {
  try {
    await note(call, keys, browser, signIn);
  } catch {}
}

async function note(call: Call, keys: LoginCodeKeys, browser: Browser, { userId, ...origin }: SignIn): Promise<void> {
  const [user] = await call.run(selectEmail, { userId });
  // Equivalent: guard: errors are ignored
  if (!user) return;
  const { email } = user;
  const familiarity = await findFamiliarity(call, keys, browser, email);
  await rememberOrigin(call, keys, browser, { userId, email });
  if (familiarity !== 'stranger' || !call.notices) return;
  // Whoever signs in from a new place each hour would otherwise learn to ignore the e-mails.
  if (!(await takePermit(call, hmac(keys[0], `notices of sign-ins of ${userId}`), ONCE_A_DAY))) return;
  await call.run(insertNotice, { userId, now: call.now, ...noticeParameters(call, origin) });
  call.notices.wake();
}

const selectEmail = statement('select_email_of_user', { email: users.email })`
  select email from users where id = ${p.uuid('userId')} and deleted_at is null`;

const insertNotice = statement('insert_sign_in_notice')`with ${noticeToUser('newDevice')} select`;
