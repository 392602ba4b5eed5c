/** The part of statements that completes a login intent. */
import { type SQL, sql } from 'drizzle-orm';
import { loginIntents } from '../../database/schema/intent-schema.ts';
import { applications } from '../../database/schema/schema.ts';
import { statementInstant } from '../../database/sql/instants.ts';
import { nullable, p, t } from '../../database/sql/template.ts';
import { isStillRegistered } from '../applications/redirect-uri.ts';
import { auditEvent } from '../audit/audit-event.ts';
import { TWO_FACTORS } from '../core/assurance.ts';
import { hasInvitation } from './accept-invitation.ts';

/** The row of a login intent that a statement has just completed: all columns of the CTE `completed`. */
export const COMPLETED_INTENT = {
  applicationId: loginIntents.applicationId,
  clientId: applications.clientId,
  singleSignOn: applications.singleSignOn,
  redirectUri: loginIntents.redirectUri,
  state: loginIntents.state,
  prompt: loginIntents.prompt,
  responseMode: loginIntents.responseMode,
  forClient: nullable(t.text),
  clientName: loginIntents.clientName,
  completedAt: t.instant,
  authenticatedAt: loginIntents.authenticatedAt,
  assurance: loginIntents.assurance,
  /** Whether the sign-in accepts an invitation. */
  isInvited: t.boolean,
};

/**
 * The instant of a sign-in, later than every cut-off that the statement sees. A statement may begin before the
 * reactivation of a user and still see it: the cut-off of the reactivation would then end the sign-in at once.
 * Parameter: userId.
 */
export const laterThanCutoffs = sql`greatest(${statementInstant}, (
  select c.cutoff_at + interval '1 ms' from user_cutoffs c where c.user_id = ${p.uuid('userId')}))`;

/** The assignments of an update that stores a `SignInOrigin`. Parameters: all of `SignInOrigin`. */
export const originAssignments = sql`browser_digest = ${p.bytes('browserDigest')},
      answer_digest = ${p.bytes('answerDigest')}, ip_address = ${p.text('ipAddress')}, user_agent = ${p.text('userAgent')}`;

/** The lowest level that completes the intent `i` of the application `a`: a login may raise it, never lower it. */
export const requiredAssurance = sql`greatest(i.required_assurance, a.required_assurance)`;

/** Whether the application `a` has kept the redirect URI of the intent `i`. */
const leadsBack = isStillRegistered(sql`i`, sql`a`);

/**
 * Returns two CTEs: `completed` completes an open intent of an existing application if there is the user, the level of
 * the sign-in suffices, and the application lets everybody in, unless `access` says whom. `audit` records that. On
 * Usher's pages, a user with a second factor does not sign in by the first alone: `holdSignIn` then keeps the sign-in.
 * `completedAt` is an instant of Postgres, because cut-offs are, with which it is compared.
 * Parameters: all of `HowSignedIn`, loginIntentId, userId, now, instant.
 */
export function completedIntent({
  user,
  owes,
  condition = sql`true`,
  access = sql`not a.restrict_access`,
  completedAt = statementInstant,
  authenticatedAt = sql`i.authenticated_at`,
  assurance = sql`1`,
  passkeyId = sql`null`,
  onBehalfBy,
  vouchedUserId,
}: {
  /** Has a row if the user may sign in: the SQL after `from`, with a condition. */
  user: SQL;
  /** The name of that row of `users`. Null if the statement itself decides whether the user owes a second factor. */
  owes: 'u' | 'users' | null;
  condition?: SQL;
  access?: SQL;
  completedAt?: SQL;
  authenticatedAt?: SQL;
  assurance?: SQL;
  passkeyId?: SQL;
  onBehalfBy?: SQL;
  vouchedUserId?: SQL;
}): SQL {
  const audit = {
    resource: p.uuid('userId'),
    from: sql`completed`,
    applicationId: sql`application_id`,
    onBehalfBy,
  };
  const owesNothing = owes
    ? sql` and (not ${sql.raw(owes)}.has_second_factor or ${assurance} >= ${sql.raw(String(TWO_FACTORS))}
        or ${p.bytes('answerDigest')}::bytea is null)`
    : sql``;
  return sql`completed as (
    update login_intents i
    set completed_at = ${completedAt}, authenticated_at = ${authenticatedAt}, user_id = ${p.uuid('userId')},
      method = ${p.text('method')}, assurance = ${assurance}, passkey_id = ${passkeyId},
      ${originAssignments}${onBehalfBy ? sql`, on_behalf_by = ${onBehalfBy}` : sql``}${vouchedUserId ? sql`, vouched_user_id = ${vouchedUserId}` : sql``}
    from applications a
    where i.id = ${p.uuid('loginIntentId')} and i.completed_at is null and i.expires_at > ${p.instant('now')}
      and a.id = i.application_id and a.deleted_at is null and ${access}
      and ${leadsBack}
      and ${assurance} >= ${requiredAssurance}
      and exists (select 1 from ${user}${owesNothing}) and ${condition}
    returning i.application_id, i.redirect_uri, i.state, i.prompt, i.response_mode, i.completed_at, i.authenticated_at,
      i.assurance, i.client_id as for_client, i.client_name, a.client_id, a.single_sign_on, ${hasInvitation} as is_invited
  ), ${auditEvent(audit)}`;
}
