import { sql } from 'drizzle-orm';
import { p } from '../../../database/template.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { check, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { cutOffRefused } from '../../../domain/lifecycle/lost-access.ts';
import { removeInvitedUser } from './remove-invited-user.ts';
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
  const [revoked] = await call.run(revokeListed, { applicationId, invitationId, now: call.now });
  if (!revoked) throw new ServiceError('INVITATION_NOT_FOUND');
  const { userId, createdUser, acceptedAt } = revoked;
  // A restricted application loses a user whom only the invitation has let in.
  await cutOffRefused(call, [[applicationId, userId]]);
  if (createdUser && !acceptedAt) await removeInvitedUser(call, userId);
  return userId;
}

const revokeListed = createWithdrawal(
  'revoke_invitation',
  sql`(v.accepted_at is not null or v.expires_at > ${p.instant('now')})`,
);
