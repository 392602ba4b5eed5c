import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { instantPlaceholder } from '../../database/schema.ts';
import { digestOf, generateApiKey } from './api-key.ts';

/** Returns a new key, to be shown once, with what is stored of it. */
export function newApiKey(): { apiKey: string; apiKeyId: string; digest: Buffer } {
  const apiKey = generateApiKey();
  return { apiKey, apiKeyId: randomUUID(), digest: Buffer.from(digestOf(apiKey), 'hex') };
}

/** The columns of a new key's row except the application. Placeholders: apiKeyId, digest, now. */
export const newApiKeyColumns = {
  id: sql`${sql.placeholder('apiKeyId')}::uuid`.as('api_key_id'),
  digest: sql`${sql.placeholder('digest')}::bytea`.as('digest'),
  createdAt: sql`${instantPlaceholder('now')}::timestamptz`.as('created_at'),
  revokedAt: sql`null::timestamptz`.as('revoked_at'),
  name: sql`null::text`.as('key_name'),
  expiresAt: sql`null::timestamptz`.as('expires_at'),
  lastUsedAt: sql`null::timestamptz`.as('last_used_at'),
  replacedBy: sql`null::uuid`.as('replaced_by'),
};
