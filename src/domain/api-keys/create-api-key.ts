import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { apiKeys, applications } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { apiKeyColumns, newApiKey } from './new-api-key.ts';

const rules = { applicationId: uuid };

/** Creates another API key, to be shown once. @throws ServiceError `Application not found` */
export async function createApiKey(
  { run, now }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<{ apiKeyId: string; apiKey: string }> {
  const { applicationId } = check(request, rules);
  const { apiKey, apiKeyId, digest } = newApiKey();
  const [created] = await run(insertApiKey, { applicationId, apiKeyId, digest, now });
  if (!created) throw new ServiceError('APPLICATION_NOT_FOUND');
  return { apiKeyId, apiKey };
}

const insertApiKey: Statement<{ id: string }[]> = (db) =>
  db
    .insert(apiKeys)
    .select(
      db
        .select({
          applicationId: applications.id,
          ...apiKeyColumns,
        })
        .from(applications)
        .where(and(eq(applications.id, sql.placeholder('applicationId')), isNull(applications.deletedAt))),
    )
    .returning({ id: apiKeys.id })
    .prepare('insert_api_key');
