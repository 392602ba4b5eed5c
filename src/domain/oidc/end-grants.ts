/** Ends grants and thereby their tokens. Other sign-ins of the user to the application live on. */
import { type SQL, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { oidcGrants } from '../../database/oidc-schema.ts';
import { p, statement } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall, Call } from '../call.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, HAS_MESSAGES, type HasMessages, messagesOf, notified } from '../webhooks/insert-message.ts';
import { loggedOutOfBrowsers } from '../webhooks/logout-message.ts';

/**
 * The expiry of a grant that was ended. With the present instant, it would still be live on a replica with a slower
 * clock.
 */
export const LONG_AGO = sql`'epoch'::timestamptz`;

const rules = { userId: uuid, applicationId: uuid, grantId: uuid };

/**
 * Ends a grant and returns the ID of its user. Returns undefined if there is no such grant, or it has ended already.
 */
export async function endGrant(call: ApplicationCall, request: Unchecked<'grantId'>): Promise<string | undefined> {
  const { grantId } = check(request, { grantId: uuid });
  return end(call, endOne, { applicationId: call.application.id, grantId, userId: null });
}

/** Ends a grant if it is one of this user. Returns as `endGrant` does. */
export async function endUserGrant(call: Call, request: Unchecked<keyof typeof rules>): Promise<string | undefined> {
  return end(call, endOne, check(request, rules));
}

/** Ends all grants of the sign-ins of one user to one application in one browser. */
export async function endGrantsOfBrowser(
  call: Call,
  browser: { readonly applicationId: string; readonly userId: string; readonly sid: string },
): Promise<void> {
  await end(call, endOfBrowser, browser);
}

type Ended = { readonly userId: string } & HasMessages;

async function end(call: Call, statement: Statement<Ended[]>, parameters: object): Promise<string | undefined> {
  const [ended] = await call.run(statement, { ...parameters, now: call.now });
  if (ended) announce(call.onMessage, ended);
  return ended?.userId;
}

const ENDED = { userId: oidcGrants.userId, ...HAS_MESSAGES };

const endOne = statement('end_oidc_grant', ENDED)`${endGrants(
  sql`id = ${p.uuid('grantId')} and (${p.uuid('userId')} is null or user_id = ${p.uuid('userId')})`,
)}`;

const endOfBrowser = statement('end_oidc_grants_of_browser', ENDED)`${endGrants(
  sql`user_id = ${p.uuid('userId')} and sid = ${p.uuid('sid')}`,
)}`;

/** Sets the expiry. The expiry job removes the rows. */
function endGrants(condition: SQL): SQL {
  return sql`
    with ended as (
      update oidc_grants set expires_at = ${LONG_AGO}
      where application_id = ${p.uuid('applicationId')} and expires_at > ${p.instant('now')} and ${condition}
      returning user_id, sid
    ), target as (
      select distinct user_id from ended
    ), ${auditEvent({ resource: sql`user_id`, from: sql`target` })}, ${messagesOf(loggedOutOfBrowsers(sql`ended`))}
    select user_id, ${notified} from target`;
}
