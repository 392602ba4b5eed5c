import { sql } from 'drizzle-orm';
import { applications } from '../../database/schema.ts';
import { webhooks } from '../../database/webhook-schema.ts';
import { createList } from '../pages/list.ts';

const { id, applicationId, url, ownerId, disabledReason, updatedAt } = webhooks;

/** Returns a page of the webhooks that Usher has made inactive, in all applications. */
export const listDisabledWebhooks = createList('select_disabled_webhooks', {
  name: 'disabled-webhooks',
  columns: { id, applicationId, url, ownerId, disabledReason, updatedAt, applicationName: applications.name },
  select: sql`webhooks.id, webhooks.application_id, webhooks.url, webhooks.owner_id, webhooks.disabled_reason,
    webhooks.updated_at, applications.name as application_name`,
  order: [updatedAt, id],
  join: sql`join applications on applications.id = webhooks.application_id`,
  where: sql`webhooks.disabled_reason is not null and applications.deleted_at is null`,
});
