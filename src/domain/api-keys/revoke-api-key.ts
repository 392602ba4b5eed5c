import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { apiKeys, instantPlaceholder } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';

const rules = { apiKeyId: uuid };

/** Revokes an API key. @throws ServiceError `API key not found`, also if it was revoked before */
export async function revokeApiKey({ run, now }: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { apiKeyId } = check(request, rules);
  const [revoked] = await run(markRevoked, { apiKeyId, now });
  if (!revoked) throw new ServiceError('API_KEY_NOT_FOUND');
}

const markRevoked: Statement<{ id: string }[]> = (db) => {
  const revoked = db.$with('revoked').as(
    db
      .update(apiKeys)
      .set({ revokedAt: instantPlaceholder('now') })
      .where(and(eq(apiKeys.id, sql.placeholder('apiKeyId')), isNull(apiKeys.revokedAt)))
      .returning({ id: apiKeys.id, applicationId: apiKeys.applicationId }),
  );
  const applicationId = sql`application_id`;
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`revoked`, applicationId });
  return db.with(revoked, audit).select({ id: revoked.id }).from(revoked).prepare('mark_api_key_revoked');
};
