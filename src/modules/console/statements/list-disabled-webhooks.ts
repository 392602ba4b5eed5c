import { sql } from 'drizzle-orm';
import { applications } from '../../../database/schema/schema.ts';
import { webhooks } from '../../../database/schema/webhook-schema.ts';
import { columnsOf } from '../../../database/sql/template.ts';
import { createList } from '../../../domain/pages/list.ts';

const { id, applicationId, url, ownerId, disabledReason, updatedAt } = webhooks;
const own = { id, applicationId, url, ownerId, disabledReason, updatedAt };

/** Returns a page of the webhooks that Usher has disabled, in all applications. */
export const listDisabledWebhooks = createList('select_disabled_webhooks', {
  name: 'disabled-webhooks',
  columns: { ...own, applicationName: applications.name },
  select: sql`${columnsOf(own, 'webhooks')}, applications.name as application_name`,
  order: [updatedAt, id],
  join: sql`join applications on applications.id = webhooks.application_id`,
  where: sql`webhooks.disabled_reason is not null and applications.deleted_at is null`,
});
