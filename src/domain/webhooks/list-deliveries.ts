import { and, desc, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';
import type { Db, Statement } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { webhookDeliveries } from '../../database/webhook-schema.ts';
import type { ApplicationCall } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { maxPageLimit, type Page, pageRules, readPage } from '../pages/read-page.ts';
import { instantText, oneOf } from '../text-rules.ts';
import { check, optional, type Unchecked } from '../validation.ts';
import {
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryStatus,
  deliveryColumns,
  isOfWebhook,
  selectMessage,
} from './delivery.ts';
import { requireWebhook } from './get-webhook.ts';
import { numberOf, webhookId } from './ids.ts';

const rules = {
  webhookId,
  status: optional(oneOf(DELIVERY_STATUSES)),
  since: optional(instantText),
  ...pageRules,
};

/** Returns a page of a webhook's deliveries. @throws ServiceError `Invalid webhook ID format`, `Webhook not found` */
export async function listDeliveries(
  call: ApplicationCall,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<Page<Delivery>> {
  const { webhookId, status, since: from, ...page } = check(request, rules);
  const applicationId = call.application.id;
  await requireWebhook(call, webhookId);
  const since = from ?? new Date(0);
  const scope = ['deliveries', applicationId, webhookId, status, since.getTime()];
  return readPage(
    pageTokens,
    scope,
    page,
    (position) => call.run(selectDeliveries, { applicationId, webhookId, status, since, ...position }),
    ({ createdAt, messageId }) => ({ at: createdAt, id: numberOf(messageId) }),
  );
}

const selectDeliveries: Statement<Delivery[]> = (db) => {
  const [pending, succeeded, failed] = DELIVERY_STATUSES.map((status) => selectWithStatus(db, status));
  if (!pending || !succeeded || !failed) throw new Error('There are three statuses');
  const page = unionAll(pending, succeeded, failed)
    .orderBy(sql`created_at desc, message_id desc`)
    .limit(sql.placeholder('limit'))
    .as('webhook_deliveries');
  return db
    .select(deliveryColumns)
    .from(page)
    .leftJoinLateral(selectMessage(db), sql`true`)
    .orderBy(desc(webhookDeliveries.createdAt), desc(webhookDeliveries.messageId))
    .prepare('select_deliveries');
};

/** Selects the newest deliveries with the status, or none if another is wanted. */
function selectWithStatus(db: Db, wanted: DeliveryStatus) {
  const { status, createdAt, messageId } = webhookDeliveries;
  const literal = sql.raw(`'${wanted}'`);
  const afterId = sql.placeholder('afterId');
  return (
    db
      .select()
      .from(webhookDeliveries)
      .where(
        and(
          isOfWebhook,
          sql`coalesce(${sql.placeholder('status')}, ${literal}) = ${literal}`,
          sql`(${status}, ${createdAt}) >= (${literal}, ${instantPlaceholder('since')})`,
          sql`(${status}, ${createdAt}, ${messageId}) < (${literal}, ${instantPlaceholder('afterAt')}, ${afterId})`,
        ),
      )
      // Only one index has this order. With `status = …` Postgres might read all deliveries by their time.
      .orderBy(desc(status), desc(createdAt), desc(messageId))
      .limit(maxPageLimit as unknown as number)
  );
}
