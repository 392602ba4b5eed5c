import { eq } from 'drizzle-orm';
import { matches, type Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { webhooks } from '../../database/webhook-schema.ts';
import type { ApplicationCall } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageRules, readPage, selectPage } from '../pages/read-page.ts';
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

const order = [webhooks.createdAt, webhooks.id] as const;

const selectWebhooks: Statement<WebhookSummary[]> = (db) =>
  db
    .select(summaryColumns)
    .from(selectPage(db, webhooks, order, matches(webhooks, 'applicationId')))
    .innerJoin(users, eq(users.id, webhooks.ownerId))
    .orderBy(...newestFirst(...order))
    .prepare('select_webhooks');
