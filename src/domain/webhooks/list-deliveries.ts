import { and, eq, gte, type SQL, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';
import type { Db, Statement } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { webhookDeliveries } from '../../database/webhook-schema.ts';
import type { ApplicationCall } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageLimit, pageRules, readPage, startsAfter } from '../pages/read-page.ts';
import { anyString, check, optional, type Unchecked } from '../validation.ts';
import { DELIVERY_STATUSES, type Delivery, deliveryColumns, isOfWebhook, selectMessage } from './delivery.ts';
import { instantText, oneOf } from './delivery-rules.ts';
import { requireWebhook } from './get-webhook.ts';
import { parseMessageId } from './message-id.ts';
import { parseWebhookId } from './webhook-id.ts';

const rules = {
  webhookId: anyString,
  status: optional(oneOf(DELIVERY_STATUSES)),
  since: optional(instantText),
  ...pageRules,
};

/** Above every message, for the first page. */
const MAX_MESSAGE_ID = '9223372036854775807';

/** Returns a page of a webhook's deliveries. @throws ServiceError `Invalid webhook ID format`, `Webhook not found` */
export async function listDeliveries(
  call: ApplicationCall,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<Page<Delivery>> {
  const { webhookId: given, status, since: from, ...page } = check(request, rules);
  const webhookId = parseWebhookId(given);
  const applicationId = call.application.id;
  await requireWebhook(call, webhookId);
  const since = from ?? new Date(0);
  const scope = ['deliveries', applicationId, webhookId, status, since.getTime()];
  const select = status === null ? selectDeliveries : selectDeliveriesByStatus;
  return readPage(
    pageTokens,
    scope,
    page,
    ({ afterId, ...position }) =>
      call.run(select, {
        applicationId,
        webhookId,
        status,
        since,
        ...position,
        afterId: /^\d+$/.test(afterId) ? afterId : MAX_MESSAGE_ID,
      }),
    ({ createdAt, messageId }) => ({ at: createdAt, id: parseMessageId(messageId) ?? '' }),
  );
}

const selectDeliveriesByStatus: Statement<Delivery[]> = (db) =>
  selectWithStatus(db, sql`${sql.placeholder('status')}`).prepare('select_deliveries_by_status');

/** Each status is read from the index in order. */
const selectDeliveries: Statement<Delivery[]> = (db) => {
  const [pending, succeeded, failed] = DELIVERY_STATUSES.map((status) => selectWithStatus(db, sql`${status}`));
  if (!pending || !succeeded || !failed) throw new Error('There are three statuses');
  return unionAll(pending, succeeded, failed)
    .orderBy(sql`created_at desc, message_id desc`)
    .limit(pageLimit)
    .prepare('select_deliveries');
};

function selectWithStatus(db: Db, status: SQL) {
  return db
    .select({ ...deliveryColumns, id: webhookDeliveries.messageId })
    .from(webhookDeliveries)
    .leftJoinLateral(selectMessage(db), sql`true`)
    .where(
      and(
        isOfWebhook,
        eq(webhookDeliveries.status, status),
        gte(webhookDeliveries.createdAt, instantPlaceholder('since')),
        startsAfter(webhookDeliveries.createdAt, webhookDeliveries.messageId),
      ),
    )
    .orderBy(...newestFirst(webhookDeliveries.createdAt, webhookDeliveries.messageId))
    .limit(pageLimit);
}
