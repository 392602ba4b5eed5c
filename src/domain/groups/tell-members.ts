import { sql } from 'drizzle-orm';
import { columnsOf, p, statement } from '../../database/template.ts';
import type { Call } from '../core/call.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { userMessage } from '../outbox/user-messages.ts';
import { userColumns } from '../users/user.ts';

interface ChangedGroup {
  readonly groupId: string;
  /** Who has been added or removed. Otherwise, all members have changed. */
  readonly userId?: string;
  /** An application that may no longer see the group. */
  readonly applicationId?: string;
}

/** Tells the applications that see a group, and that its members have signed in to, that these users have changed. */
export async function tellMembers(
  { run, now, onMessage }: Call,
  { groupId, userId, applicationId }: ChangedGroup,
): Promise<void> {
  const [told] = await run(insertMessages, {
    groupId,
    userId: userId ?? null,
    applicationId: applicationId ?? null,
    now,
  });
  if (told) announce(onMessage, told);
}

const toSeeing = userMessage('user.updated', sql`changed`);
const isSeeing = sql`signed_in.application_id = any(array(
  select y.application_id from application_groups y where y.group_id = ${p.uuid('groupId')} and y.in_claim
  union all select ${p.uuid('applicationId')}))`;

const insertMessages = statement('tell_group_members', HAS_MESSAGES)`
  with changed as (
    select ${columnsOf(userColumns)} from users
    where deleted_at is null and id = any(array(
      select m.user_id from group_members m where m.group_id = ${p.uuid('groupId')} and ${p.uuid('userId')} is null
      union all select ${p.uuid('userId')}))
  ), ${messagesOf({ ...toSeeing, from: sql`${toSeeing.from} where ${isSeeing}`, part: sql`changed.id` })}
  select ${notified}`;
