import { rememberedSignIns } from '../../../database/schema/login-schema.ts';
import { p, statement } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { cutOffBrowser } from '../../../domain/sessions/browser-cutoffs.ts';
import { listRememberedSignIns } from './list-remembered-sign-ins.ts';
import { digestSignInToken } from './sign-in-token.ts';

/**
 * Forgets one of the user's sign-ins, which the digest of its token names. If it is in another browser, the user is
 * signed out there of Usher's pages, too. For any other text, nothing happens.
 */
export async function forgetListedSignIn(
  call: Call,
  {
    userId,
    digest,
    browser,
  }: { readonly userId: string; readonly digest: string; readonly browser: Pick<Browser, 'digest'> },
): Promise<void> {
  const signIns = await listRememberedSignIns(call, userId);
  const found = signIns.find(({ tokenDigest }) => tokenDigest.toString('base64url') === digest);
  if (!found) return;
  const { tokenDigest, browserDigest } = found;
  const isElsewhere = browserDigest && !browserDigest.equals(browser.digest);
  if (isElsewhere) await cutOffBrowser(call, { userId, browserDigest });
  await call.run(deleteSignIn, { tokenDigest, userId });
}

/**
 * Forgets the sign-in of this token, and returns its user. Returns undefined if there is none. Sessions that began with
 * it live on.
 *
 * @param userId if given, the sign-in must be that user's
 */
export async function forgetSignIn(
  { run }: Call,
  token: string,
  userId: string | null = null,
): Promise<string | undefined> {
  const [forgotten] = await run(deleteSignIn, { tokenDigest: digestSignInToken(token), userId });
  return forgotten?.userId;
}

const deleteSignIn = statement('delete_remembered_sign_in', { userId: rememberedSignIns.userId })`
  with forgotten as (
    delete from remembered_sign_ins
    where token_digest = ${p.bytes('tokenDigest')} and (${p.uuid('userId')} is null or user_id = ${p.uuid('userId')})
    returning user_id
  )
  select user_id from forgotten`;
