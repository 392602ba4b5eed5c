/**
 * A sign-out on Usher's pages writes a cut-off for the user in one browser. It ends what belongs to earlier sign-ins
 * there: the account page, the page of passkeys, and answers that no application has got yet. Cookies that were copied
 * before are of no use then.
 */
import { type SQL, sql } from 'drizzle-orm';
import { presentInstant } from '../../database/sql/instants.ts';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { isSidCutOff, runCutoff } from './cutoffs.ts';
import { computeSid } from './sid.ts';

/** Everything that it ends lives for a day at most. The sign-out deletes the remembered sign-in, which lives longer. */
const LIFETIME_MS = 2 * 24 * 60 * 60_000;

/**
 * Returns the condition that the user has not signed out in the browser since a sign-in at the given instant. User and
 * browser are the parameters `userId` and `browserDigest`, or the columns that are given. A browser that is null has
 * never signed out.
 */
export function isSignedInHere(
  authenticatedAt: SQL,
  { userId = p.uuid('userId'), browserDigest = p.bytes('browserDigest') }: { userId?: SQL; browserDigest?: SQL } = {},
): SQL {
  return sql`not exists (
    select 1 from browser_cutoffs b
    where b.user_id = ${userId} and b.browser_digest = ${browserDigest} and b.cutoff_at >= ${authenticatedAt})`;
}

/**
 * Returns the condition that nothing has signed the user out in the browser since the sign-in, of the application or of
 * Usher. A sign-out there ends what no application has got yet: codes, auth tokens, and pages that continue a login.
 * User and browser are as in `isSignedInHere`. Parameter: applicationId.
 */
export function isStillHere(
  authenticatedAt: SQL,
  { userId = p.uuid('userId'), browserDigest = p.bytes('browserDigest'), ...of }: InBrowser = {},
): SQL {
  const { sid = computeSid(p.uuid('applicationId'), userId, browserDigest) } = of;
  return sql`not ${isSidCutOff(sid, authenticatedAt)} and ${isSignedInHere(authenticatedAt, { userId, browserDigest })}`;
}

interface InBrowser {
  readonly userId?: SQL;
  readonly browserDigest?: SQL;
  /** If it is known. */
  readonly sid?: SQL;
}

/**
 * Ends the sign-ins of a user in a browser. Call it only if the browser has proved to be signed in: the row is stored
 * for two days.
 *
 * @param authenticatedAt the last known sign-in, which may come from a clock that is ahead
 */
export async function cutOffBrowser(
  call: Call,
  {
    userId,
    browserDigest,
    authenticatedAt = null,
  }: { readonly userId: string; readonly browserDigest: Buffer; readonly authenticatedAt?: Date | null },
): Promise<void> {
  await runCutoff(call, insertBrowserCutoff, { userId, browserDigest, authenticatedAt }, LIFETIME_MS);
}

const insertBrowserCutoff = statement('insert_browser_cutoff')`
  with target as (
    select id from users where id = ${p.uuid('userId')} and deleted_at is null
  ), cutoff as (
    insert into browser_cutoffs as c (user_id, browser_digest, cutoff_at, expires_at)
    select id, ${p.bytes('browserDigest')}, greatest(${p.instant('authenticatedAt')}, ${presentInstant}),
      ${p.instant('cutoffExpiresAt')}
    from target
    on conflict (user_id, browser_digest) do update set
      cutoff_at = greatest(c.cutoff_at, excluded.cutoff_at), expires_at = greatest(c.expires_at, excluded.expires_at)
  ), ${auditEvent({ resource: sql`id`, from: sql`target`, applicationId: noApplication })}
  select from target`;
