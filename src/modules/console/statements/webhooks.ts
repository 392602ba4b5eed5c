/** Counts deliveries for operators. A count ends at a limit, so that a large backlog takes no longer. */
import { sql } from 'drizzle-orm';
import { nullable, p, statement, t } from '../../../database/sql/template.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import { type DeliveryStatus, URGENT } from '../../../domain/webhooks/delivery.ts';

/** The limit of each count. */
const MAX_COUNTED = 1_000;
const limit = sql.raw(`${MAX_COUNTED}`);

/** Returns how many deliveries of the webhook since an instant have the status, up to `MAX_COUNTED`. */
export async function countDeliveries(
  { application, run }: ApplicationCall,
  { webhookId, ...filter }: { readonly webhookId: string; readonly status: DeliveryStatus; readonly since: Date },
): Promise<number> {
  const [row] = await run(countWithStatus, { applicationId: application.id, webhookId, ...filter });
  return row?.count ?? 0;
}

const countWithStatus = statement('count_deliveries', { count: t.integer })`
  select count(*)::integer as count from (
    select 1 from webhook_deliveries
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and status = ${p.text('status')} and created_at >= ${p.instant('since')}
    -- Equivalent: order: a count has none
    order by created_at desc, message_id desc
    limit ${limit}
  ) as counted`;

interface QueueState {
  /** Null while attempts succeed. */
  readonly failingSince: Date | null;
  readonly nextAttemptAt: Date | null;
}

/** Returns since when deliveries to the webhook fail, and when the next attempt is due. */
export async function readQueueState({ run, application }: ApplicationCall, webhookId: string): Promise<QueueState> {
  const [state] = await run(selectQueueState, { applicationId: application.id, webhookId });
  return state ?? { failingSince: null, nextAttemptAt: null };
}

const ofWebhook = sql`application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}`;

/** Omits urgent deliveries: `URGENT` is no real time. */
const selectQueueState = statement('select_queue_state', {
  failingSince: nullable(t.instant),
  nextAttemptAt: nullable(t.instant),
})`
  select failing_since, (
    select due_at from webhook_deliveries where ${ofWebhook} and due_at > ${URGENT} order by due_at limit 1
  ) as next_attempt_at
  from webhook_queues where ${ofWebhook}`;

/** Describes a count of messages. The statement stops counting at `MAX_COUNTED`. */
export function describeMessages(count: number): string {
  if (count >= MAX_COUNTED) return `${MAX_COUNTED.toLocaleString('en')} messages or more`;
  return `${count} ${count === 1 ? 'message' : 'messages'}`;
}
