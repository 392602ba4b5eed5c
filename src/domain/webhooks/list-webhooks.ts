import { sql } from 'drizzle-orm';
import { webhooks } from '../../database/schema/webhook-schema.ts';
import { p } from '../../database/sql/template.ts';
import { createList, ofApplication } from '../pages/list.ts';
import { summaryColumns, summarySelection } from './webhook.ts';

export const listWebhooks = createList('select_webhooks', {
  name: 'webhooks',
  of: ofApplication,
  columns: summaryColumns,
  select: summarySelection,
  order: [webhooks.createdAt, webhooks.id],
  join: sql`join users on users.id = owner_id`,
  where: sql`application_id = ${p.uuid('applicationId')}`,
});
