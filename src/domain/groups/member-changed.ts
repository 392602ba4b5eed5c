import { type SQL, sql } from 'drizzle-orm';
import { columnsOf, p } from '../../database/sql/template.ts';
import type { Message } from '../outbox/insert-message.ts';
import { userMessage } from '../outbox/user-messages.ts';
import { userColumns } from '../users/user.ts';

/**
 * Returns the message to the applications that see a group, and that its member has signed in to, that the user has
 * changed. Parameter: userId.
 *
 * @param changed a CTE that has a row for each group of the user that has changed
 * @param groupId the ID of each
 */
export function memberChanged(changed: SQL, groupId: SQL = p.uuid('groupId')): Message {
  const user = sql`(
    select ${columnsOf(userColumns)} from users
    where deleted_at is null and id = ${p.uuid('userId')} and exists (select 1 from ${changed}))`;
  const message = userMessage('user.updated', user);
  const isSeeing = sql`signed_in.application_id = any(array(
    select y.application_id from ${changed} x join application_groups y on y.group_id = ${groupId} and y.in_claim))`;
  return { ...message, from: sql`${message.from} where ${isSeeing}`, part: sql`changed.id` };
}
