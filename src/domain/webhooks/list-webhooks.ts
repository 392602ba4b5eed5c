import { sql } from 'drizzle-orm';
import { columnsOf, p, t } from '../../database/template.ts';
import { webhooks } from '../../database/webhook-schema.ts';
import { createList, ofApplication } from '../pages/list.ts';
import { jsonObject } from './insert-message.ts';
import { summaryColumns, type WebhookSummary } from './webhook.ts';

const { owner: _, ...columns } = summaryColumns;
const owner = jsonObject({ id: sql`users.id`, name: sql`users.name`, email: sql`users.email` });

export const listWebhooks = createList('select_webhooks', {
  name: 'webhooks',
  of: ofApplication,
  columns: { ...columns, owner: t.json<WebhookSummary['owner']>() },
  select: sql`${columnsOf(columns, 'webhooks')}, ${owner} as owner`,
  order: [webhooks.createdAt, webhooks.id],
  join: sql`join users on users.id = owner_id`,
  where: sql`application_id = ${p.uuid('applicationId')}`,
});
