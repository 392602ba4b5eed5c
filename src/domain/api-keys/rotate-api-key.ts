import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { apiKeys, applications, instantPlaceholder } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, integer, optional, type Unchecked, uuid } from '../validation.ts';
import { newApiKey, newApiKeyColumns } from './new-api-key.ts';

const DAY_SECONDS = 24 * 60 * 60;
const rules = { apiKeyId: uuid, overlapSeconds: optional(integer({ min: 0, max: 7 * DAY_SECONDS })) };

/**
 * Replaces an API key by one with the same name and expiry, to be shown once. The old key works until the overlap is
 * over, or until its expiry if that is earlier.
 *
 * @throws ServiceError `API key not found`, also if it has ended; `API key already replaced`
 */
export async function rotateApiKey(
  { run, now }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<{ apiKeyId: string; apiKey: string }> {
  const { apiKeyId: oldId, overlapSeconds } = check(request, rules);
  const { apiKey, apiKeyId, digest } = newApiKey();
  const endsAt = new Date(now.getTime() + (overlapSeconds ?? DAY_SECONDS) * 1_000);
  const [created] = await run(replaceApiKey, { oldId, apiKeyId, digest, now, endsAt });
  if (created) return { apiKeyId, apiKey };
  const [replaced] = await run(selectReplaced, { oldId });
  throw new ServiceError(replaced ? 'API_KEY_REPLACED' : 'API_KEY_NOT_FOUND');
}

/** The row lock lets one of several concurrent rotations succeed. */
const replaceApiKey: Statement<{ id: string }[]> = (db) => {
  const old = db.$with('old').as(
    db
      .select({
        applicationId: apiKeys.applicationId,
        id: apiKeys.id,
        name: apiKeys.name,
        expiresAt: apiKeys.expiresAt,
      })
      .from(apiKeys)
      .innerJoin(applications, and(eq(applications.id, apiKeys.applicationId), isNull(applications.deletedAt)))
      .where(
        and(
          eq(apiKeys.id, sql.placeholder('oldId')),
          isNull(apiKeys.revokedAt),
          isNull(apiKeys.replacedBy),
          sql`(${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > ${instantPlaceholder('now')})`,
        ),
      )
      .for('update', { of: apiKeys }),
  );
  const replaced = db.$with('replaced').as(
    db
      .update(apiKeys)
      .set({
        expiresAt: sql`least(${apiKeys.expiresAt}, ${instantPlaceholder('endsAt')})`,
        replacedBy: sql`${sql.placeholder('apiKeyId')}::uuid`,
      })
      .from(old)
      .where(and(eq(apiKeys.applicationId, old.applicationId), eq(apiKeys.id, old.id)))
      .returning({ id: apiKeys.id, applicationId: apiKeys.applicationId }),
  );
  const applicationId = sql`application_id`;
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`replaced`, applicationId });
  return db
    .with(old, replaced, audit)
    .insert(apiKeys)
    .select(
      db
        .select({
          applicationId: old.applicationId,
          ...newApiKeyColumns,
          name: old.name,
          expiresAt: old.expiresAt,
        })
        .from(old),
    )
    .returning({ id: apiKeys.id })
    .prepare('replace_api_key');
};

const selectReplaced: Statement<{ id: string }[]> = (db) =>
  db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.id, sql.placeholder('oldId')), isNull(apiKeys.revokedAt), isNotNull(apiKeys.replacedBy)))
    .prepare('select_replaced_api_key');
