import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { userAdded } from '../outbox/user-messages.ts';

/**
 * Whether the user has an open invitation to the application of the intent `i` that the statement completes. Parameters:
 * userId, now.
 */
export const hasInvitation = isInvited(p.uuid('userId'));

export function isInvited(userId: SQL): SQL {
  return sql`exists (
      select 1 from invitations v where v.application_id = i.application_id and v.user_id = ${userId}
        and v.accepted_at is null and v.expires_at > ${p.instant('now')})`;
}

/**
 * Accepts the open invitation of a user who has just signed in and tells the application of the user. The login is complete, so an error is ignored: the next sign-in accepts the invitation.
 */
export async function acceptInvitation(
  { run, now, onMessage }: Call,
  { applicationId, userId }: { readonly applicationId: string; readonly userId: string },
): Promise<void> {
  try {
    const [accepted] = await run(markAccepted, { applicationId, userId, now, auditAction: 'AcceptInvitation' });
    if (accepted) announce(onMessage, accepted);
  } catch {}
}

/** The application has learnt of a user before who had been added, or had signed in, before the invitation. */
const isNew = sql`not exists (
  select 1 from application_users s
  where s.application_id = ${p.uuid('applicationId')} and s.user_id = ${p.uuid('userId')})`;

/** Of this application only, which finds its webhooks with the fewest reads. */
const { applicationId: _, ...joinedMessage } = userAdded(sql`added`, sql`users`, isNew);

const markAccepted = statement('accept_invitation', HAS_MESSAGES)`
  with accepted as (
    update invitations set accepted_at = ${p.instant('now')}
    where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')} and accepted_at is null
      and expires_at > ${p.instant('now')}
    returning application_id, user_id, added_user, group_ids
  ), joined as (
    insert into group_members (group_id, user_id, added_at)
    select g.id, accepted.user_id, ${p.instant('now')} from accepted join groups g on g.id = any(accepted.group_ids)
    on conflict do nothing
  ), added as (
    select application_id, user_id from accepted where added_user
  ), ${auditEvent({ resource: sql`user_id`, from: sql`accepted` })}, ${messagesOf(joinedMessage)}
  select ${notified} from accepted`;
