import { sql } from 'drizzle-orm';
import { matches, type RowOf, type Statement } from '../../database/database.ts';
import { apiKeys, applications } from '../../database/schema.ts';
import { isExistingApplication } from '../applications/application.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageRules, readPage, selectPage } from '../pages/read-page.ts';
import { check, type Unchecked, uuid } from '../validation.ts';

const rules = { applicationId: uuid, ...pageRules };

const columns = {
  apiKeyId: apiKeys.id,
  name: apiKeys.name,
  createdAt: apiKeys.createdAt,
  expiresAt: apiKeys.expiresAt,
  revokedAt: apiKeys.revokedAt,
  lastUsedAt: apiKeys.lastUsedAt,
  replacedBy: apiKeys.replacedBy,
};

/** An API key without its secret. */
type ApiKeyDetails = RowOf<typeof columns>;

/** Returns a page of an application's keys, with those that have ended. @throws ServiceError `Application not found` */
export async function listApiKeys(
  { run }: Call,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<Page<ApiKeyDetails>> {
  const { applicationId, ...page } = check(request, rules);
  return readPage(
    pageTokens,
    ['api-keys', applicationId],
    page,
    async (parameters) => {
      const rows = await run(selectApiKeys, { applicationId, ...parameters });
      if (rows.length === 0) throw new ServiceError('APPLICATION_NOT_FOUND');
      return rows.flatMap(({ apiKey }) => apiKey ?? []);
    },
    ({ createdAt, apiKeyId }) => ({ at: createdAt, id: apiKeyId }),
  );
}

const order = [apiKeys.createdAt, apiKeys.id] as const;
const isOfApplication = matches(apiKeys, 'applicationId');

/** Returns one row without a key for an application that has none left, and no row if there is no application. */
const selectApiKeys: Statement<{ apiKey: ApiKeyDetails | null }[]> = (db) =>
  db
    .select({ apiKey: columns })
    .from(applications)
    .leftJoin(selectPage(db, apiKeys, order, isOfApplication), sql`true`)
    .where(isExistingApplication)
    .orderBy(...newestFirst(...order))
    .prepare('select_api_keys');
