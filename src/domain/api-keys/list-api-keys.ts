import { sql } from 'drizzle-orm';
import { apiKeys } from '../../database/schema/api-key-schema.ts';
import { p } from '../../database/sql/template.ts';
import { getApplication } from '../applications/get-application.ts';
import { uuid } from '../core/validation.ts';
import { createList } from '../pages/list.ts';

const { id: apiKeyId, name, createdAt, expiresAt, revokedAt, lastUsedAt, replacedBy, use, declaredByFile } = apiKeys;

/**
 * Returns a page of an application's keys, including revoked and expired ones.
 *
 * @throws ServiceError `Application not found`
 */
export const listApiKeys = createList('select_api_keys', {
  name: 'api-keys',
  rules: { applicationId: uuid },
  columns: { apiKeyId, name, createdAt, expiresAt, revokedAt, lastUsedAt, replacedBy, use, declaredByFile },
  // Of an application that the file no longer names, neither does it name the key.
  select: sql`id as api_key_id, name, created_at, expires_at, revoked_at, last_used_at, replaced_by, use,
    declared_by_file and coalesce((
      select a.declared_by_file from applications a where a.id = ${p.uuid('applicationId')}), false) as declared_by_file`,
  order: [createdAt, apiKeyId],
  where: sql`application_id = ${p.uuid('applicationId')}
    and exists (select 1 from applications where id = ${p.uuid('applicationId')} and deleted_at is null)`,
  requireParent: getApplication,
});
