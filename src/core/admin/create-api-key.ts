import { randomUUID } from 'node:crypto';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../db/database.ts';
import { apiKeys, applications } from '../../db/schema.ts';
import { digestOf, generateApiKey } from '../auth/api-key.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';

const rules = { applicationId: uuid };

/** Issues one more API key, which is shown this once. Throws `Application not found`. */
export async function createApiKey(
  { run, now }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<{ apiKeyId: string; apiKey: string }> {
  const { applicationId } = check(request, rules);
  const apiKeyId = randomUUID();
  const apiKey = generateApiKey();
  const [created] = await run(insertApiKey, {
    applicationId,
    apiKeyId,
    digest: Buffer.from(digestOf(apiKey), 'hex'),
    now,
  });
  if (!created) throw new ServiceError('not-found', 'Application not found');
  return { apiKeyId, apiKey };
}

const insertApiKey: Statement<{ id: string }[]> = (db) =>
  db
    .insert(apiKeys)
    .select(
      db
        .select({
          applicationId: applications.id,
          id: sql`${sql.placeholder('apiKeyId')}::uuid`.as('api_key_id'),
          digest: sql`${sql.placeholder('digest')}::bytea`.as('digest'),
          createdAt: sql`${sql.param(sql.placeholder('now'), apiKeys.createdAt)}::timestamptz`.as('created_at'),
          revokedAt: sql`null::timestamptz`.as('revoked_at'),
        })
        .from(applications)
        .where(and(eq(applications.id, sql.placeholder('applicationId')), isNull(applications.deletedAt))),
    )
    .returning({ id: apiKeys.id })
    .prepare('insert_api_key');
