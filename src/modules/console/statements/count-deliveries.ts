/** Counts deliveries for operators. A count ends at a limit, so that a large backlog takes no longer. */
import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../../database/sql/template.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import type { DeliveryStatus } from '../../../domain/webhooks/delivery.ts';

/** The limit of each count. */
export const MAX_COUNTED = 1_000;
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
    order by created_at desc, message_id desc limit ${limit}
  ) as counted`;
