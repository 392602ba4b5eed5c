import { sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { unfinishedParameters } from '../core/unfinished-changes.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { goOn } from '../lifecycle/finish-change.ts';
import { createWithdrawal } from './withdraw-invitation.ts';

const rules = { invitationId: uuid };

/**
 * Removes an invitation, with the access that it has given, and returns the user's ID. The sign-ins of a user who may no
 * longer enter a restricted application end. If it has created the user and nobody has ever signed in as the user, the
 * user is erased.
 *
 * @throws ServiceError `Invitation not found`
 */
export async function revokeInvitation(call: ApplicationCall, request: Unchecked<keyof typeof rules>): Promise<string> {
  const { invitationId } = check(request, rules);
  const applicationId = call.application.id;
  const unfinished = unfinishedParameters(call.now);
  const [revoked] = await call.run(revokeListed, { applicationId, invitationId, now: call.now, ...unfinished });
  if (!revoked) throw new ServiceError('INVITATION_NOT_FOUND');
  await goOn(call, unfinished.changeId);
  return revoked.userId;
}

const revokeListed = createWithdrawal(
  'revoke_invitation',
  sql`(v.accepted_at is not null or v.expires_at > ${p.instant('now')})`,
);
