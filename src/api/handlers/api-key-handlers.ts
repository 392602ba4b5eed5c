import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import { createApiKey } from '../../domain/api-keys/create-api-key.ts';
import { revokeApiKey } from '../../domain/api-keys/revoke-api-key.ts';
import type { AdminHandlers } from './admin-handlers.ts';

export function createApiKeyHandlers(apiKeys: ApiKeys) {
  return {
    async createApiKey(fields, call) {
      return createApiKey(call, fields);
    },

    async revokeApiKey(fields, call) {
      await revokeApiKey(call, fields);
      apiKeys.forgetAll();
      return {};
    },
  } satisfies Partial<AdminHandlers>;
}
