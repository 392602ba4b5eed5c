/** Ends grants and thereby their tokens. Other sign-ins of the user to the application live on. */
import { type SQL, sql } from 'drizzle-orm';
import type { PlaceholderValues, Statement } from '../../database/pool/database.ts';
import { oidcGrants } from '../../database/schema/oidc-schema.ts';
import { presentInstant } from '../../database/sql/instants.ts';
import { nullable, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall, Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { announce, HAS_MESSAGES, type HasMessages, messagesOf, notified } from '../outbox/insert-message.ts';
import { loggedOutOfBrowsers } from '../outbox/logout-message.ts';
import { cutOffSid, runCutoff } from '../sessions/cutoffs.ts';
import { forgetLateSignInsOfBrowser, forgetSignIns, isRememberedIn } from '../sessions/forget-sign-ins.ts';

/**
 * The assignments that end a grant. With the present instant as expiry, it would still be live on a replica with a
 * slower clock. The expiry job passes over what expired before 1970, and removes the row by `ended_at`.
 */
export const ENDED_NOW = sql`expires_at = '1969-12-31 00:00+00'::timestamptz, ended_at = statement_timestamp()`;

/** Longer than a code or a sign-in that is just being remembered, which are all that the cut-off of a browser ends. */
const CUTOFF_LIFETIME_MS = 24 * 60 * 60_000;

const rules = { userId: uuid, applicationId: uuid, grantId: uuid };

/**
 * Ends a grant and returns the ID of its user. Returns undefined if there is no such grant, or it has ended already. An
 * application that shares sign-ins thereby also ends the sign-in that the browser remembers.
 *
 * @param rotatedBefore if given, a grant whose refresh token was replaced later does not end
 */
export async function endGrant(
  call: ApplicationCall,
  request: Unchecked<'grantId'>,
  { rotatedBefore = null }: { readonly rotatedBefore?: Date | null } = {},
): Promise<string | undefined> {
  const { grantId } = check(request, { grantId: uuid });
  const { id: applicationId, singleSignOn } = call.application;
  const target = { applicationId, grantId, userId: null, rotatedBefore };
  return end(call, singleSignOn ? endOneAndForget : endOne, target);
}

/** Ends a grant if it is one of this user, and the sign-in that its browser remembers. Returns as `endGrant` does. */
export async function endUserGrant(call: Call, request: Unchecked<keyof typeof rules>): Promise<string | undefined> {
  return end(call, endOneAndForget, { ...check(request, rules), rotatedBefore: null });
}

/**
 * Ends all grants of the sign-ins of one user to one application in one browser, codes that have begun no grant yet, and
 * the sign-in of this user that the browser remembers.
 */
export async function endGrantsOfBrowser(
  call: Call,
  browser: { readonly applicationId: string; readonly userId: string; readonly sid: string },
): Promise<void> {
  await end(call, endOfBrowser, browser);
}

interface GrantsOfClient {
  readonly applicationId: string;
  readonly clientId: string;
  /** Null for all users. */
  readonly userId: string | null;
  /** Null for all browsers. */
  readonly sid?: string | null | undefined;
}

/** Ends the grants of one client of a resource. */
export async function endGrantsOfClient(call: Call, { sid = null, ...client }: GrantsOfClient): Promise<void> {
  await runCutoff(call, endOfClient, { ...client, sid }, CUTOFF_LIFETIME_MS).then(([ended]) => {
    if (ended) announce(call.onMessage, ended);
  });
}

/** Returns the IDs of the resources at which the client has grants of the user's sign-in in the browser. */
export async function findResourcesOfLogin(
  { run, now }: Call,
  login: { readonly clientId: string; readonly userId: string; readonly sid: string },
): Promise<readonly string[]> {
  const found = await run(selectResourcesOfLogin, { ...login, now });
  return found.map(({ applicationId }) => applicationId);
}

const selectResourcesOfLogin = statement('select_resources_of_login', { applicationId: oidcGrants.applicationId })`
  select distinct application_id from oidc_grants
  where user_id = ${p.uuid('userId')} and sid = ${p.uuid('sid')} and client_id = ${p.text('clientId')}
    and expires_at > ${p.instant('now')}`;

async function end(
  call: Call,
  statement: Statement<Ended[]>,
  parameters: PlaceholderValues & { readonly applicationId: string },
): Promise<string | undefined> {
  const [ended] = await runCutoff(call, statement, parameters, CUTOFF_LIFETIME_MS);
  if (!ended) return undefined;
  announce(call.onMessage, ended);
  const { browserUserId: userId, sid, cutoffAt } = ended;
  if (statement !== endOne) {
    await forgetLateSignInsOfBrowser(call, { ...parameters, userId, sid, until: cutoffAt });
  }
  return ended.userId ?? undefined;
}

const ENDED = {
  /** Null if no grant has ended. */
  userId: nullable(t.uuid),
  browserUserId: t.uuid,
  sid: oidcGrants.sid,
  cutoffAt: t.instant,
  ...HAS_MESSAGES,
};

interface Ended extends HasMessages {
  readonly userId: string | null;
  readonly browserUserId: string;
  readonly sid: string;
  readonly cutoffAt: Date;
}

/**
 * A browser with a later grant of the application has not been signed out. It keeps what it remembers, unless that is
 * the sign-in of the grant.
 */
const forgetOfGrants = forgetSignIns(
  sql`target`,
  sql`r.user_id = t.user_id and (r.authenticated_at = t.authenticated_at or t.is_signed_out and ${isRememberedIn(sql`t.sid`)})`,
);

const isOne = sql`id = ${p.uuid('grantId')} and (${p.uuid('userId')} is null or user_id = ${p.uuid('userId')})
  and (${p.instant('rotatedBefore')} is null or rotated_at <= ${p.instant('rotatedBefore')})`;

/** The sign-in of the grant, whose cut-off also ends codes of the same sign-in. */
const ofGrant = sql`
  select user_id, sid, authenticated_at, authenticated_at as cutoff_at, not exists (
    select 1 from oidc_grants g where g.application_id = ${p.uuid('applicationId')} and g.user_id = ended.user_id
      and g.sid = ended.sid and g.id <> ${p.uuid('grantId')} and g.expires_at > ${p.instant('now')}
  ) as is_signed_out
  from ended`;

/** The browser itself, and each sign-in of its grants. */
const ofBrowser = sql`
  select users.id as user_id, ${p.uuid('sid')} as sid, s.authenticated_at,
    greatest(max(s.authenticated_at) over (), ${presentInstant}) as cutoff_at, true as is_signed_out
  from users left join (select distinct authenticated_at from ended) s on true where users.id = ${p.uuid('userId')}`;

const endOne = statement('end_oidc_grant', ENDED)`${endGrants(isOne, ofGrant)}`;

const endOneAndForget = statement('end_oidc_grant_and_forget', ENDED)`${endGrants(isOne, ofGrant, forgetOfGrants)}`;

const endOfBrowser = statement('end_oidc_grants_of_browser', ENDED)`${endGrants(
  sql`user_id = ${p.uuid('userId')} and sid = ${p.uuid('sid')}`,
  ofBrowser,
  forgetOfGrants,
)}`;

/** The browser stays signed in: the client is no part of it. */
const ofClient = sql`
  select user_id, sid, authenticated_at, authenticated_at as cutoff_at, false as is_signed_out from ended`;

const endOfClient = statement('end_oidc_grants_of_client', ENDED)`${endGrants(
  sql`client_id = ${p.text('clientId')} and (${p.uuid('userId')} is null or user_id = ${p.uuid('userId')})
    and (${p.uuid('sid')} is null or sid = ${p.uuid('sid')})`,
  ofClient,
  undefined,
  // An event for each user.
  sql`gen_random_uuid()`,
)}`;

/** Sets the expiry, and when that was. */
function endGrants(condition: SQL, target: SQL, forget?: SQL, auditId = p.uuid('auditId')): SQL {
  return sql`
    with ended as (
      update oidc_grants set ${ENDED_NOW}
      where application_id = ${p.uuid('applicationId')} and expires_at > ${p.instant('now')} and ${condition}
      returning user_id, sid, authenticated_at, client_id
    ), gone as (
      select distinct user_id from ended
    ), target as (${target}
    ), browser as (
      select user_id, sid, max(cutoff_at) as cutoff_at from target group by user_id, sid
    ), ${auditEvent({ resource: sql`user_id`, from: sql`gone`, id: auditId })}, ${cutOffSid(sql`browser`)},
    ${forget ? sql`${forget},` : sql``} ${messagesOf(...loggedOutOfBrowsers(sql`ended`))}
    select (select user_id from gone limit 1) as user_id, user_id as browser_user_id, sid, cutoff_at, ${notified} from browser`;
}
