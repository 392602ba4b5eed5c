import { and, eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { webhooks } from '../../database/webhook-schema.ts';
import type { ApplicationCall } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageLimit, pageRules, readPage, startsAfter } from '../pages/read-page.ts';
import { check, type Unchecked } from '../validation.ts';
import { summaryColumns, type WebhookSummary } from './webhook.ts';

/** Returns a page of the application's webhooks. */
export async function listWebhooks(
  { application, run }: ApplicationCall,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof pageRules>,
): Promise<Page<WebhookSummary>> {
  return readPage(
    pageTokens,
    ['webhooks', application.id],
    check(request, pageRules),
    (page) => run(selectWebhooks, { applicationId: application.id, ...page }),
    ({ createdAt, id }) => ({ at: createdAt, id }),
  );
}

const selectWebhooks: Statement<WebhookSummary[]> = (db) =>
  db
    .select(summaryColumns)
    .from(webhooks)
    .innerJoin(users, eq(users.id, webhooks.ownerId))
    .where(
      and(eq(webhooks.applicationId, sql.placeholder('applicationId')), startsAfter(webhooks.createdAt, webhooks.id)),
    )
    .orderBy(...newestFirst(webhooks.createdAt, webhooks.id))
    .limit(pageLimit)
    .prepare('select_webhooks');
