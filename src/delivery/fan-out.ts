/** Fan-out: gives each message a delivery for every webhook that subscribes to its type. */
import { sql } from 'drizzle-orm';
import type { Run } from '../database/pool/database.ts';
import { webhookMessages } from '../database/schema/delivery-schema.ts';
import { p, statement, t } from '../database/sql/template.ts';
import { isSubscribed } from '../domain/outbox/insert-message.ts';
import { storePositions } from '../domain/outbox/message-feed.ts';
import { wakeQueues } from '../domain/outbox/wake-queue.ts';
import { isErasedUser } from '../domain/users/user.ts';

/** Limits of one statement: the messages that it reads, and the deliveries that it inserts. */
const MAX_MESSAGES = 200;
const MAX_DELIVERIES = 1_000;
/** Limit of one search for applications, in pages of MAX_MESSAGES. */
const MAX_PAGES = 64;

/**
 * Returns applications with messages to fan out, and the ID after which the next search begins. A page skips further
 * messages of the last application before it, so that an application with many messages does not delay others.
 */
export async function findApplications(run: Run, after: string) {
  const found = new Set<string>();
  let next: string | undefined = after;
  for (let page = 0; page < MAX_PAGES; page++) {
    const rows: { applicationId: string }[] = await run(selectUnsent, { after: next });
    for (const { applicationId } of rows) found.add(applicationId);
    next = rows.length < MAX_MESSAGES ? FIRST_APPLICATION : rows.at(-1)?.applicationId;
    if (next === FIRST_APPLICATION) break;
  }
  return { applicationIds: [...found], next };
}

export const FIRST_APPLICATION = '00000000-0000-0000-0000-000000000000';

/** Fans out messages of the application. Returns whether more messages may be left. */
export async function fanOut(run: Run, applicationId: string, now: Date): Promise<boolean> {
  const [result] = await run(insertDeliveries, { applicationId, now });
  return result !== undefined && (result.messages === MAX_MESSAGES || result.deliveries === MAX_DELIVERIES);
}

const maxMessages = sql.raw(`${MAX_MESSAGES}`);
const selectUnsent = statement('select_unsent_messages', { applicationId: webhookMessages.applicationId })`
  select application_id from webhook_messages where application_id > ${p.uuid('after')} and fanned_out_to is not null
  order by application_id, id limit ${maxMessages}`;

const maxDeliveries = sql.raw(`${MAX_DELIVERIES}`);

const insertDeliveries = statement('insert_deliveries', { messages: t.integer, deliveries: t.integer })`
  with claimed as (
    select id, type, created_at, user_id, fanned_out_to from webhook_messages
    where application_id = ${p.uuid('applicationId')} and fanned_out_to is not null
    order by id limit ${maxMessages} for update
  ), erased as (
    -- A sign-in may commit a message about its user after the user was erased.
    delete from webhook_messages as message using claimed
    where message.application_id = ${p.uuid('applicationId')} and message.id = claimed.id
      and exists (select 1 from users where users.id = claimed.user_id and ${isErasedUser})
    returning message.id
  ), subscribed as (
    -- Because of the lock, a concurrent update of the webhook is either seen here or waits. Without the lock, a webhook
    -- that the update disables could get deliveries.
    select claimed.id as message_id, claimed.created_at, webhook.id as webhook_id
    from claimed cross join lateral (
      select id from webhooks w
      where ${isSubscribed(sql`claimed.type`, p.uuid('applicationId'))} and id > claimed.fanned_out_to
        -- The feed of the application has no URL.
        and url <> ''
      order by id limit ${maxDeliveries} for share
    ) as webhook
    where claimed.id not in (select id from erased)
    order by message_id, webhook_id limit ${maxDeliveries}
  ), inserted as (
    insert into webhook_deliveries (application_id, webhook_id, message_id, created_at, due_at)
    select ${p.uuid('applicationId')}, webhook_id, message_id, created_at, ${p.instant('now')} from subscribed
    on conflict do nothing
  ), ${wakeQueues(sql`subscribed`)}, last as (
    -- The last delivery, if there are as many as the limit allows: later ones are left for the next statement.
    select message_id, webhook_id from subscribed order by message_id, webhook_id offset ${maxDeliveries} - 1
  ), marked as (
    -- The message of the last delivery continues after that webhook. Earlier messages have all of their deliveries.
    update webhook_messages as message set fanned_out_to = last.webhook_id
    from claimed left join last on last.message_id = claimed.id
    where message.application_id = ${p.uuid('applicationId')} and message.id = claimed.id
      and claimed.id not in (select id from erased) and not exists (select 1 from last where last.message_id < claimed.id)
    returning message.id
  ), placed as (
    -- Each message once, in the statement that begins its fan-out.
    select id, type, created_at, row_number() over (order by id) as place from claimed
    where fanned_out_to = '' and id in (select id from marked)
  ), ${storePositions}
  select (select count(*)::integer from claimed) as messages, (select count(*)::integer from subscribed) as deliveries`;
