import { isMessage } from '@bufbuild/protobuf';
import { TimestampSchema, timestampDate } from '@bufbuild/protobuf/wkt';
import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import { createApiKey } from '../../domain/api-keys/create-api-key.ts';
import { listApiKeys } from '../../domain/api-keys/list-api-keys.ts';
import { revokeApiKey } from '../../domain/api-keys/revoke-api-key.ts';
import { rotateApiKey } from '../../domain/api-keys/rotate-api-key.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { OpenHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

export function createApiKeyHandlers(apiKeys: ApiKeys, pageTokens: PageTokens) {
  return {
    async createApiKey(fields, call) {
      return createApiKey(call, { ...fields, expiresAt: fromTimestamp(fields.expiresAt) });
    },

    async listApiKeys(fields, call) {
      const { rows, nextPageToken } = await listApiKeys(call, pageTokens, fields);
      return { apiKeys: rows.map(toMessage), nextPageToken };
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
  } satisfies Partial<OpenHandlers<typeof AdminService>>;
}

/** Returns a Timestamp as a Date, and anything else as it is: a missing one, or a wrong type that validation refuses. */
function fromTimestamp(value: unknown): unknown {
  return isMessage(value, TimestampSchema) ? timestampDate(value) : value;
}
