import { sql } from 'drizzle-orm';
import { invitations } from '../../database/schema/invitation-schema.ts';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { unfinishedParameters } from '../core/unfinished-changes.ts';
import { goOn } from '../lifecycle/finish-change.ts';
import { createWithdrawal } from './revoke-invitation.ts';

const BATCH_SIZE = 100;

/** Withdraws invitations that have expired while they were open. Returns whether there may be more. */
export async function expireInvitations(call: Call): Promise<boolean> {
  const { run, now } = call;
  const expired = await run(selectExpired, { now, limit: BATCH_SIZE });
  for (const { applicationId, id: invitationId, userId, createdAt, expiresAt, onBehalfAt } of expired) {
    // A crash between a sign-in and its acceptance must not take away the access.
    const [signedIn] = onBehalfAt ? [] : await run(selectSignedIn, { applicationId, userId, createdAt, expiresAt });
    if (signedIn) {
      await run(acceptLate, { applicationId, invitationId, now });
      continue;
    }
    const unfinished = unfinishedParameters(now);
    const [withdrawn] = await run(expireOpen, { applicationId, invitationId, now, ...unfinished });
    if (withdrawn) await goOn(call, unfinished.changeId);
  }
  return expired.length === BATCH_SIZE;
}

const { applicationId, id, userId, createdAt, expiresAt, onBehalfAt } = invitations;
const EXPIRED = { applicationId, id, userId, createdAt, expiresAt, onBehalfAt };

const selectExpired = statement('select_expired_invitations', EXPIRED)`
  select ${columnsOf(EXPIRED)} from invitations
  where accepted_at is null and expires_at <= ${p.instant('now')} order by expires_at limit ${p.integer('limit')}`;

const selectSignedIn = statement('select_invited_sign_in')`
  select from application_users
  where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')}
    and first_signed_in_at >= ${p.instant('createdAt')} and first_signed_in_at < ${p.instant('expiresAt')}`;

const acceptLate = statement('accept_invitation_late')`
  update invitations set accepted_at = ${p.instant('now')}
  where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('invitationId')} and accepted_at is null`;

const expireOpen = createWithdrawal(
  'expire_invitation',
  sql`v.accepted_at is null and v.expires_at <= ${p.instant('now')}`,
);
