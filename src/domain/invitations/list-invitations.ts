import { sql } from 'drizzle-orm';
import { invitations } from '../../database/schema/invitation-schema.ts';
import { p } from '../../database/sql/template.ts';
import { createList, ofApplication } from '../pages/list.ts';
import { invitationColumns } from './invitation.ts';

/** Returns a page of the application's invitations, open and accepted, the newest first. */
export const listInvitations = createList('select_invitations', {
  name: 'invitations',
  of: ofApplication,
  columns: invitationColumns,
  order: [invitations.createdAt, invitations.id],
  where: sql`application_id = ${p.uuid('applicationId')} and (accepted_at is not null or expires_at > ${p.instant('now')})`,
});
