import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import { createApiKey } from '../../domain/api-keys/create-api-key.ts';
import { type ApiKeyDetails, listApiKeys } from '../../domain/api-keys/list-api-keys.ts';
import { revokeApiKey } from '../../domain/api-keys/revoke-api-key.ts';
import { rotateApiKey } from '../../domain/api-keys/rotate-api-key.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import { fromTimestamp } from '../timestamps.ts';
import type { AdminHandlers } from './admin-handlers.ts';

export function createApiKeyHandlers(apiKeys: ApiKeys, pageTokens: PageTokens) {
  return {
    async createApiKey(fields, call) {
      return createApiKey(call, { ...fields, expiresAt: fromTimestamp(fields.expiresAt) });
    },

    async listApiKeys(fields, call) {
      const { rows, nextPageToken } = await listApiKeys(call, pageTokens, fields);
      return { apiKeys: rows.map(toApiKey), nextPageToken };
    },

    async rotateApiKey(fields, call) {
      const created = await rotateApiKey(call, fields);
      apiKeys.forgetAll();
      return created;
    },

    async revokeApiKey(fields, call) {
      await revokeApiKey(call, fields);
      apiKeys.forgetAll();
      return {};
    },
  } satisfies Partial<AdminHandlers>;
}

function toApiKey({ apiKeyId, name, createdAt, expiresAt, revokedAt, lastUsedAt, replacedBy }: ApiKeyDetails) {
  return {
    apiKeyId,
    createdAt: timestampFromDate(createdAt),
    ...(name !== null && { name }),
    ...(expiresAt && { expiresAt: timestampFromDate(expiresAt) }),
    ...(revokedAt && { revokedAt: timestampFromDate(revokedAt) }),
    ...(lastUsedAt && { lastUsedAt: timestampFromDate(lastUsedAt) }),
    ...(replacedBy !== null && { replacedBy }),
  };
}
