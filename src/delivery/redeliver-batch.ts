/** Redelivery of failed deliveries: a job that is stored in the queue and run, batch by batch, by the lease holder. */
import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../database/database.ts';
import { instantPlaceholder } from '../database/schema.ts';
import { webhookDeliveries, webhookQueues } from '../database/webhook-schema.ts';
import { asDueAgain } from '../domain/webhooks/delivery.ts';

const BATCH_SIZE = 1_000;

/** Makes a batch of failed deliveries pending again. */
export const redeliverBatch: Statement<unknown> = (db) => {
  const { applicationId, webhookId } = placeholders('applicationId', 'webhookId');
  const job = db.$with('job', {}).as(sql`
    select redeliver_since as since, redeliver_until as until from ${webhookQueues}
    where application_id = ${applicationId} and webhook_id = ${webhookId}
      and lease = ${sql.placeholder('lease')} and redeliver_since is not null for update`);
  const chosen = db.$with('chosen', {}).as(sql`
    select message_id, created_at from ${webhookDeliveries}, job
    where application_id = ${applicationId} and webhook_id = ${webhookId} and status = 'failed'
      and created_at >= job.since and created_at <= job.until
    order by created_at, message_id limit ${sql.raw(String(BATCH_SIZE))}`);
  const renewed = db.$with('renewed', {}).as(sql`
    update ${webhookDeliveries} as delivery
    set ${asDueAgain(sql`${instantPlaceholder('now')}::timestamptz`)}
    where delivery.application_id = ${applicationId} and delivery.webhook_id = ${webhookId}
      and delivery.message_id = any(array(select message_id from chosen)) and delivery.status = 'failed'
    returning delivery.message_id`);
  // The next batch begins at the last instant of this one, so deliveries that fail again are not redelivered forever.
  const isCut = sql`(select count(*) from chosen) = ${sql.raw(String(BATCH_SIZE))}`;
  const moved = db.$with('moved', {}).as(sql`
    update ${webhookQueues} set
      redeliver_since = case when ${isCut} then (select max(created_at) from chosen) end,
      redeliver_until = case when ${isCut} then redeliver_until end
    where application_id = ${applicationId} and webhook_id = ${webhookId} and exists (select 1 from job)
    returning webhook_id`);
  return db
    .with(job, chosen, renewed, moved)
    .select({ count: sql<number>`(select count(*) from renewed)::int`.as('count') })
    .from(sql`(select) as nothing`)
    .prepare('redeliver_batch');
};
