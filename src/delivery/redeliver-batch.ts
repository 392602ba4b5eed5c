/** Redelivery of failed deliveries. The queue stores which ones; the lease holder makes them pending, batch by batch. */
import { sql } from 'drizzle-orm';
import { p, statement } from '../database/sql/template.ts';
import { asDueAgain } from '../domain/webhooks/delivery.ts';

const BATCH_SIZE = 1_000;

const batchSize = sql.raw(`${BATCH_SIZE}`);
const isCut = sql`(select count(*) from chosen) = ${batchSize}`;

/** Makes a batch of failed deliveries pending again. */
export const redeliverBatch = statement('redeliver_batch')`
  with job as (
    select redeliver_since as since, redeliver_until as until from webhook_queues
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and lease = ${p.uuid('lease')} and redeliver_since is not null
    for update
  ), chosen as (
    select message_id, created_at from webhook_deliveries, job
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')} and status = 'failed'
      and created_at >= since and created_at <= until
    order by created_at, message_id limit ${batchSize}
  ), renewed as (
    update webhook_deliveries set ${asDueAgain(p.instant('now'))}
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and message_id = any(array(select message_id from chosen)) and status = 'failed'
  ), moved as (
    -- The next batch begins at the last instant of this one. Otherwise deliveries that fail again would be chosen forever.
    update webhook_queues set
      redeliver_since = case when ${isCut} then (select max(created_at) from chosen) end,
      redeliver_until = case when ${isCut} then redeliver_until end
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and exists (select 1 from job)
  )
  select from job`;
