import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import { createApiKey } from '../../domain/api-keys/create-api-key.ts';
import { revokeApiKey } from '../../domain/api-keys/revoke-api-key.ts';
import { createApplication } from '../../domain/applications/create-application.ts';
import { deleteApplication } from '../../domain/applications/delete-application.ts';
import type { AuthTokens } from '../../domain/login/auth-tokens.ts';
import { completeLogin } from '../../domain/login/complete-login.ts';
import { createUser } from '../../domain/users/create-user.ts';
import { deleteUser } from '../../domain/users/delete-user.ts';
import type { OpenHandlers } from '../procedures.ts';
import { toProfile } from './to-profile.ts';

export function createAdminHandlers(tokens: AuthTokens, apiKeys: ApiKeys): OpenHandlers<typeof AdminService> {
  return {
    async createApplication(fields, call) {
      const { application, apiKeyId, apiKey } = await createApplication(call, fields);
      return { application: { ...application, redirectUris: [...application.redirectUris] }, apiKeyId, apiKey };
    },

    async deleteApplication(fields, call) {
      await deleteApplication(call, fields);
      apiKeys.forgetAll();
      return {};
    },

    async createApiKey(fields, call) {
      return createApiKey(call, fields);
    },

    async revokeApiKey(fields, call) {
      await revokeApiKey(call, fields);
      apiKeys.forgetAll();
      return {};
    },

    async createUser(fields, call) {
      const user = await createUser(call, fields);
      return { user: { id: user.id, ...toProfile(user) } };
    },

    async deleteUser(fields, call) {
      await deleteUser(call, fields);
      return {};
    },

    async completeLogin(fields, call) {
      return completeLogin(call, tokens, fields);
    },
  };
}
