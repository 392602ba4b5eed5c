import { sql } from 'drizzle-orm';
import { oidcGrants } from '../../database/schema/oidc-schema.ts';
import { applications } from '../../database/schema/schema.ts';
import { renewableFor, sessions } from '../../database/schema/session-schema.ts';
import { p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { labelOf } from '../core/application-label.ts';
import type { Call } from '../core/call.ts';
import { isGrantAfterEveryCutoff, isRefusedNow } from '../sessions/cutoffs.ts';
import { sidOf } from '../sessions/sid.ts';
import type { SignInMethod } from '../tokens/verify-token.ts';

const columns = {
  applicationId: sessions.applicationId,
  applicationName: applications.name,
  method: t.textOf<SignInMethod>(),
  ipAddress: sessions.ipAddress,
  userAgent: sessions.userAgent,
  browserDigest: sessions.browserDigest,
  beganAt: t.instant,
  /** The latest sign-in there. */
  authenticatedAt: t.instant,
};

/** Where a user is signed in: in an application, or in one browser of an application that uses OpenID Connect. */
export interface AccountSession extends RowOfType<typeof columns> {
  readonly sid?: string;
}

export function isOfBrowser(
  { applicationId, sid, browserDigest }: AccountSession,
  userId: string,
  digest: Buffer,
): boolean {
  if (sid !== undefined) return sid === sidOf(applicationId, userId, digest);
  return browserDigest?.equals(digest) ?? false;
}

/**
 * Returns where the user is signed in, the newest sign-in first. If an application has grants, its session is left out,
 * because the browsers with these grants share it.
 */
export async function listAccountSessions({ run, now }: Call, userId: string): Promise<readonly AccountSession[]> {
  const [found, grants] = await Promise.all([run(selectSessions, { userId, now }), run(selectGrants, { userId, now })]);
  const withGrants = new Set(grants.map(({ applicationId }) => applicationId));
  const others = found.filter(({ applicationId }) => !withGrants.has(applicationId));
  return [...grants, ...others].sort((one, other) => other.beganAt.getTime() - one.beganAt.getTime());
}

const selectSessions = statement('select_account_sessions', columns)`
  select s.application_id, ${labelOf('a')} as application_name, s.method, s.ip_address, s.user_agent, s.browser_digest, s.began_at,
    coalesce(s.last_authenticated_at, s.authenticated_at) as authenticated_at
  from sessions s join applications a on a.id = s.application_id and a.deleted_at is null
  where s.user_id = ${p.uuid('userId')} and s.expires_at + ${renewableFor} > ${p.instant('now')}
    and not (${isRefusedNow(sql`s.application_id`, sql`s.user_id`)})
  order by s.began_at desc, s.application_id limit 500`;

const selectGrants = statement('select_account_grants', { ...columns, sid: oidcGrants.sid })`
  select * from (
    select distinct on (application_id, sid) application_id, ${labelOf('a')} as application_name, method, ip_address, user_agent,
      browser_digest, authenticated_at as began_at, authenticated_at, sid
    from oidc_grants join applications a on a.id = application_id and a.deleted_at is null
    where user_id = ${p.uuid('userId')} and expires_at > ${p.instant('now')} and ${isGrantAfterEveryCutoff}
    order by -- Equivalent: order: only brings the grants of a browser together
      application_id, sid,
      authenticated_at desc
  ) as browsers order by began_at desc, application_id, sid limit 500`;
