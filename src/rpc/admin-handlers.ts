import type { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { createApiKey } from '../core/admin/create-api-key.ts';
import { createApplication } from '../core/admin/create-application.ts';
import { createUser } from '../core/admin/create-user.ts';
import { deleteApplication } from '../core/admin/delete-application.ts';
import { deleteUser } from '../core/admin/delete-user.ts';
import { revokeApiKey } from '../core/admin/revoke-api-key.ts';
import type { ApiKeys } from '../core/api-keys/api-keys.ts';
import type { AuthTokens } from '../core/auth/auth-tokens.ts';
import { completeLogin } from '../core/login/complete-login.ts';
import type { Handlers } from './procedures.ts';

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
