import type { RowOf } from '../../database/pool/database.ts';
import { invitations } from '../../database/schema/invitation-schema.ts';

const { id, email, userId, createdAt, expiresAt, acceptedAt } = invitations;

export const invitationColumns = { id, email, userId, createdAt, expiresAt, acceptedAt };

export type InvitationRow = RowOf<typeof invitationColumns>;

/** An invitation as callers see it. */
export interface Invitation extends Omit<InvitationRow, 'id' | 'userId'> {
  readonly invitationId: string;
  /** Null until the user signs in: it would tell whether the address had a user before. */
  readonly userId: string | null;
}

export function toInvitation({ id: invitationId, userId: invitee, ...row }: InvitationRow): Invitation {
  return { ...row, invitationId, userId: row.acceptedAt && invitee };
}
