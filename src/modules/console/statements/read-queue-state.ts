import { sql } from 'drizzle-orm';
import { nullable, p, statement, t } from '../../../database/sql/template.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import { URGENT } from '../../../domain/webhooks/delivery.ts';

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
