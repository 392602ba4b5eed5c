import { sql } from 'drizzle-orm';
import { p, statement } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import type { OwnSignIn } from '../../../domain/login/complete-login.ts';
import { type Browser, shortenUserAgent } from '../../../domain/sessions/browser.ts';
import { isSignedInHere } from '../../../domain/sessions/browser-cutoffs.ts';
import { isSidCutOff, isSignInAfterEveryCutoff } from '../../../domain/sessions/cutoffs.ts';
import { sidOf } from '../../../domain/sessions/sid.ts';
import { createSignInToken, digestSignInToken } from './sign-in-token.ts';

/**
 * Remembers the sign-in in this browser, in place of that of the former token, and returns a token for its cookie.
 * Returns undefined if a revocation, or an end of what began in this browser, has ended the sign-in already.
 */
export async function rememberSignIn(
  call: Call,
  { digest: browserDigest, address, userAgent }: Pick<Browser, 'digest' | 'address' | 'userAgent'>,
  signIn: OwnSignIn,
  { formerToken, maxAgeSeconds }: { readonly formerToken: string | undefined; readonly maxAgeSeconds: number },
): Promise<string | undefined> {
  const token = createSignInToken();
  const parameters = {
    ...signIn,
    browserDigest,
    ipAddress: address,
    userAgent: shortenUserAgent(userAgent),
    sid: sidOf(signIn.applicationId, signIn.userId, browserDigest),
    tokenDigest: digestSignInToken(token),
    formerDigest: formerToken === undefined ? null : digestSignInToken(formerToken),
    expiresAt: new Date(signIn.authenticatedAt.getTime() + maxAgeSeconds * 1_000),
  };
  const [inserted] = await call.run(insertSignIn, parameters);
  if (!inserted) return undefined;
  const [late] = await call.run(withdrawSignIn, parameters);
  return late ? undefined : token;
}

const instant = p.instant('authenticatedAt');
const isStillSignedIn = sql`${isSignInAfterEveryCutoff(instant)} and ${isSignedInHere(instant)}
  and not ${isSidCutOff(p.uuid('sid'), instant)}`;

const insertSignIn = statement('insert_remembered_sign_in')`
  with replaced as (
    delete from remembered_sign_ins where token_digest = ${p.bytes('formerDigest')}
  ), inserted as (
    insert into remembered_sign_ins (token_digest, user_id, browser_digest, ip_address, user_agent, method,
      assurance, authenticated_at, expires_at)
    select ${p.bytes('tokenDigest')}, users.id, ${p.bytes('browserDigest')}, ${p.text('ipAddress')},
      ${p.text('userAgent')}, ${p.text('method')}, ${p.integer('assurance')}, ${p.instant('authenticatedAt')},
      ${p.instant('expiresAt')}
    from users where ${isStillSignedIn}
    returning user_id
  )
  select from inserted`;

/** Concurrent statements do not see each other's rows, so the sign-in is checked again after it was inserted. */
const withdrawSignIn = statement('withdraw_remembered_sign_in')`
  with withdrawn as (
    delete from remembered_sign_ins
    where token_digest = ${p.bytes('tokenDigest')} and not exists (select 1 from users where ${isStillSignedIn})
    returning user_id
  )
  select from withdrawn`;
