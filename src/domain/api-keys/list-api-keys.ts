import { sql } from 'drizzle-orm';
import { apiKeys } from '../../database/schema/api-key-schema.ts';
import { p } from '../../database/sql/template.ts';
import { getApplication } from '../applications/get-application.ts';
import { uuid } from '../core/validation.ts';
import { createList } from '../pages/list.ts';

const { id: apiKeyId, name, createdAt, expiresAt, revokedAt, lastUsedAt, replacedBy, use } = apiKeys;

/**
 * Returns a page of an application's keys, including revoked and expired ones.
 *
 * @throws ServiceError `Application not found`
 */
export const listApiKeys = createList('select_api_keys', {
  name: 'api-keys',
  rules: { applicationId: uuid },
  columns: { apiKeyId, name, createdAt, expiresAt, revokedAt, lastUsedAt, replacedBy, use },
  order: [createdAt, apiKeyId],
  where: sql`application_id = ${p.uuid('applicationId')}
    and exists (select 1 from applications where id = ${p.uuid('applicationId')} and deleted_at is null)`,
  requireParent: getApplication,
});
