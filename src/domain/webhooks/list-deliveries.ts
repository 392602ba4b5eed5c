import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { check, oneOf, optional, orDefault, timestamp, type Unchecked } from '../core/validation.ts';
import { maxPageLimit, type Page, type PageTokens, pageRules, readPage } from '../pages/list.ts';
import {
  DELIVERY,
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryStatus,
  numberOf,
  selectDeliveriesFrom,
} from './delivery.ts';
import { requireWebhook, webhookId } from './get-webhook.ts';

const rules = {
  webhookId,
  status: optional(oneOf(DELIVERY_STATUSES)),
  since: orDefault(timestamp, new Date(0)),
  ...pageRules,
};

/** Returns a page of a webhook's deliveries. @throws ServiceError `Invalid webhook ID format`, `Webhook not found` */
export async function listDeliveries(
  call: ApplicationCall,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<Page<Delivery>> {
  const { webhookId, status, since, ...page } = check(request, rules);
  const applicationId = call.application.id;
  await requireWebhook(call, webhookId);
  const scope = ['deliveries', applicationId, webhookId, status, since.getTime()];
  return readPage(
    pageTokens,
    scope,
    page,
    (position) => call.run(selectDeliveries, { applicationId, webhookId, status, since, ...position }),
    ({ createdAt, messageId }) => ({ at: createdAt, id: numberOf(messageId) }),
  );
}

const selectDeliveries = statement('select_deliveries', DELIVERY)`
  ${selectDeliveriesFrom(sql`
    ${sql.join(DELIVERY_STATUSES.map(selectWithStatus), sql` union all `)}
    -- Equivalent: limit: a page takes no more rows than it wants
    order by created_at desc, message_id desc limit ${p.integer('limit')}
  `)}
  order by created_at desc, message_id desc`;

/** Selects the newest deliveries with the status, or none if the call wants another. The inner limit helps the plan. */
function selectWithStatus(status: DeliveryStatus): SQL {
  const own = sql.raw(`'${status}'`);
  return sql`(select * from (
    select * from webhook_deliveries
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and coalesce(${p.text('status')}, ${own}) = ${own} and (status, created_at) >= (${own}, ${p.instant('since')})
      and (status, created_at, message_id) < (${own}, ${p.instant('afterAt')}, ${p.bigint('afterId')})
    -- Only one index has this order. With an equality on the status, Postgres might read deliveries by their time.
    -- Equivalent: order: there is one status
    order by status desc,
      created_at desc, message_id desc limit ${maxPageLimit} -- Equivalent: limit: a page takes no more rows than it wants
  ) as newest limit ${p.integer('limit')})`;
}
