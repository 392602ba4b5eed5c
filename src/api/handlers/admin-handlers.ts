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
import type { Handlers } from '../procedures.ts';

export function createAdminHandlers(tokens: AuthTokens, apiKeys: ApiKeys): Handlers<typeof AdminService> {
  return {
    async createApplication(request, call) {
      const { application, apiKeyId, apiKey } = await createApplication(call, request);
      return { application: { ...application, redirectUris: [...application.redirectUris] }, apiKeyId, apiKey };
    },

    async deleteApplication(request, call) {
      await deleteApplication(call, request);
      apiKeys.forgetAll();
      return {};
    },

    async createApiKey(request, call) {
      return createApiKey(call, request);
    },

    async revokeApiKey(request, call) {
      await revokeApiKey(call, request);
      apiKeys.forgetAll();
      return {};
    },

    async createUser(request, call) {
      const { name, profileImage, ...user } = await createUser(call, request);
      return { user: { ...user, ...(name !== null && { name }), ...(profileImage !== null && { profileImage }) } };
    },

    async deleteUser(request, call) {
      await deleteUser(call, request);
      return {};
    },

    async completeLogin(request, call) {
      return completeLogin(call, tokens, request);
    },
  };
}
