import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { memberChanged } from '../groups/change-members.ts';
import { MAX_GROUPS_OF_USER } from '../groups/group.ts';
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
  call: Call,
  { applicationId, userId }: { readonly applicationId: string; readonly userId: string },
): Promise<void> {
  try {
    const ids = { applicationId, userId, most: MAX_GROUPS_OF_USER };
    const [accepted] = await call.run(markAccepted, { ...ids, now: call.now, auditAction: 'AcceptInvitation' });
    if (accepted) announce(call.onMessage, accepted);
  } catch {}
}

/** So that the job does not take the entry for one of the user: only then the invitation would be accepted. */
export async function noteEntryOnBehalf(
  { run, now }: Call,
  { applicationId, userId }: { readonly applicationId: string; readonly userId: string },
): Promise<void> {
  await run(markEnteredOnBehalf, { applicationId, userId, now });
}

const markEnteredOnBehalf = statement('mark_entered_on_behalf')`
  update invitations set on_behalf_at = coalesce(on_behalf_at, ${p.instant('now')})
  where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')} and accepted_at is null`;

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
    select id, user_id, ${p.instant('now')} from (
      select g.id, accepted.user_id, row_number() over (order by g.name) as place
      from accepted join groups g on g.id = any(accepted.group_ids) and g.deleted_at is null
      where not exists (select 1 from group_members m where m.group_id = g.id and m.user_id = ${p.uuid('userId')})
    ) as wanted
    where place <= ${p.integer('most')} - (select count(*) from group_members where user_id = ${p.uuid('userId')})
    on conflict do nothing returning group_id
  ), added as (
    select application_id, user_id from accepted where added_user
  ), ${auditEvent({ resource: sql`user_id`, from: sql`accepted` })}, ${messagesOf(joinedMessage, memberChanged(sql`joined`, sql`x.group_id`))}
  select ${notified} from accepted`;
