/** Decides which logins a remembered sign-in may complete. */
import { type SQL, sql } from 'drizzle-orm';
import { p } from '../../../database/sql/template.ts';
import { TWO_FACTORS } from '../../../domain/core/assurance.ts';
import { requiredAssurance } from '../../../domain/login/completed-intent.ts';
import { latestOwnCutoff } from '../../../domain/sessions/cutoffs.ts';
import { isActiveUser } from '../../../domain/users/user.ts';
import { digestSignInToken } from './sign-in-token.ts';

export interface SharingSettings {
  /** How long a sign-in is remembered. Zero turns it off. */
  readonly singleSignOnMaxAgeSeconds: number;
  readonly sessionMaxAgeSeconds: number;
}

/** Returns the parameters of `usableSignIn` and `mayContinue`. */
export function signInParameters(
  now: Date,
  { singleSignOnMaxAgeSeconds, sessionMaxAgeSeconds }: SharingSettings,
  { applicationId, loginIntentId, token }: { applicationId: string; loginIntentId: string; token: string },
) {
  const tokenDigest = digestSignInToken(token);
  const oldest = new Date(now.getTime() - singleSignOnMaxAgeSeconds * 1_000);
  return { applicationId, loginIntentId, tokenDigest, now, oldest, sessionMaxAgeSeconds };
}

/**
 * The CTE `remembered` and the two that it reads. It has the sign-in of the token if the user can sign in and no
 * cut-off in the application has ended the sign-in. There are three CTEs, because their tables may be on different servers.
 */
export const usableSignIn = sql`known as (
    select r.user_id, r.method, r.assurance, r.authenticated_at, users.email, users.name
    from remembered_sign_ins r join users on users.id = r.user_id
    where r.token_digest = ${p.bytes('tokenDigest')} and r.expires_at > ${p.instant('now')}
      and r.authenticated_at > ${p.instant('oldest')} and ${isActiveUser}
      and (r.assurance >= ${sql.raw(String(TWO_FACTORS))} or not users.has_second_factor)
  ), cutoff as (
    select ${latestOwnCutoff(sql`known.user_id`)} as cutoff_at from known
  ), remembered as (
    select known.* from known, cutoff where known.authenticated_at > cutoff.cutoff_at
  )`;

/** A difference: the sum of an instant and an interval depends on a time zone, which an update must not. */
const age = sql`${p.instant('now')} - r.authenticated_at`;
const interval = (seconds: SQL) => sql`${seconds} * interval '1 second'`;

/**
 * Whether the sign-in `r` may complete the open intent `i` of the application `a`. The application must share sign-ins
 * and allow the method. The sign-in must have shown what the login demands. The intent must require neither a new sign-in nor a more recent one. A session of this sign-in
 * must still be able to begin.
 */
export const mayContinue = sql`i.id = ${p.uuid('loginIntentId')} and i.completed_at is null
  and i.expires_at > ${p.instant('now')} and a.id = i.application_id and a.deleted_at is null
  and a.single_sign_on and i.prompt <> 'LOGIN'
  and (a.login_methods = '{}' or r.method = any(a.login_methods))
  and r.assurance >= ${requiredAssurance}
  and (i.max_age_seconds is null or ${age} <= ${interval(sql`i.max_age_seconds`)})
  and ${age} < ${interval(sql`coalesce(a.session_max_age_seconds, ${p.integer('sessionMaxAgeSeconds')})`)}`;
