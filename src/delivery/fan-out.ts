/** Fan-out: gives each message a delivery for every webhook that subscribes to its type. */
import { sql } from 'drizzle-orm';
import type { Run, Statement } from '../database/database.ts';
import { instantPlaceholder, users } from '../database/schema.ts';
import { webhookDeliveries, webhookMessages, webhooks } from '../database/webhook-schema.ts';
import { isErasedUser } from '../domain/users/user.ts';
import { isSubscribed } from '../domain/webhooks/insert-message.ts';
import { wakeQueues } from '../domain/webhooks/wake-queue.ts';

/** Limits of one statement: the messages that it reads, and the deliveries that it inserts. */
const MAX_MESSAGES = 200;
const MAX_DELIVERIES = 1_000;
/** Limit of one search for applications, in pages of MAX_MESSAGES. */
const MAX_PAGES = 64;

/**
 * Returns applications with messages to fan out, and the ID to continue after. The search skips further messages of the
 * last application on a page, so that one with many messages does not delay others.
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

/** Fans out messages of the application. Returns whether there may be more. */
export async function fanOut(run: Run, applicationId: string, now: Date): Promise<boolean> {
  const [result] = await run(insertDeliveries, { applicationId, now });
  return result !== undefined && (result.messages === MAX_MESSAGES || result.deliveries === MAX_DELIVERIES);
}

const selectUnsent: Statement<{ applicationId: string }[]> = (db) =>
  db
    .select({ applicationId: webhookMessages.applicationId })
    .from(webhookMessages)
    .where(
      sql`${webhookMessages.applicationId} > ${sql.placeholder('after')} and ${webhookMessages.fannedOutTo} is not null`,
    )
    .orderBy(webhookMessages.applicationId, webhookMessages.id)
    .limit(MAX_MESSAGES)
    .prepare('select_unsent_messages');

/**
 * Deletes messages about erased users: a sign-in may commit one after the erasure.
 *
 * Locks each webhook `for share`, so that a concurrent update either waits or is seen. Otherwise a webhook could get a
 * delivery after it was disabled.
 */
const insertDeliveries: Statement<{ messages: number; deliveries: number }[]> = (db) => {
  const applicationId = sql`${sql.placeholder('applicationId')}::uuid`;
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const claimed = db.$with('claimed', {}).as(sql`
    select id, type, created_at, user_id, fanned_out_to from ${webhookMessages}
    where application_id = ${applicationId} and fanned_out_to is not null
    order by id limit ${sql.raw(String(MAX_MESSAGES))} for update`);
  const erased = db.$with('erased', {}).as(sql`
    delete from ${webhookMessages} as message using claimed
    where message.application_id = ${applicationId} and message.id = claimed.id
      and exists (select 1 from ${users} where ${users.id} = claimed.user_id and ${isErasedUser})
    returning message.id`);
  const subscribed = db.$with('subscribed', {}).as(sql`
    select claimed.id as message_id, claimed.created_at, webhook.id as webhook_id
    from claimed cross join lateral (
      select webhooks.id from ${webhooks}
      where ${isSubscribed(sql`claimed.type`, applicationId)} and webhooks.id > claimed.fanned_out_to
      order by webhooks.id limit ${sql.raw(String(MAX_DELIVERIES))} for share
    ) webhook
    where claimed.id not in (select id from erased)
    order by claimed.id, webhook.id limit ${sql.raw(String(MAX_DELIVERIES))}`);
  const inserted = db.$with('inserted', {}).as(sql`
    insert into ${webhookDeliveries} (application_id, webhook_id, message_id, created_at, due_at)
    select ${applicationId}, webhook_id, message_id, created_at, ${now} from subscribed
    on conflict do nothing returning message_id`);
  const woken = wakeQueues(db, sql`subscribed`);
  // If MAX_DELIVERIES cut the last message short, `fanned_out_to` is the webhook to continue after.
  const marked = db.$with('marked', {}).as(sql`
    update ${webhookMessages} as message set fanned_out_to =
      case when message.id = last.message_id and last.is_cut then last.webhook_id end
    from claimed, (
      select count(*) = ${sql.raw(String(MAX_DELIVERIES))} as is_cut, max(message_id) as message_id,
        (array_agg(webhook_id order by message_id desc, webhook_id desc))[1] as webhook_id
      from subscribed
    ) last
    where message.application_id = ${applicationId} and message.id = claimed.id
      and claimed.id not in (select id from erased)
      and (not last.is_cut or message.id <= last.message_id)
    returning message.id`);
  return db
    .with(claimed, erased, subscribed, inserted, woken, marked)
    .select({
      messages: sql<number>`(select count(*) from claimed)::int`.as('messages'),
      deliveries: sql<number>`(select count(*) from subscribed)::int`.as('deliveries'),
    })
    .from(sql`(select) as nothing`)
    .prepare('insert_deliveries');
};
