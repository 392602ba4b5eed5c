import type { ServiceImpl } from '@connectrpc/connect';
import type { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { createApiKey } from '../core/admin/create-api-key.ts';
import { createApplication } from '../core/admin/create-application.ts';
import { createUser } from '../core/admin/create-user.ts';
import { deleteApplication } from '../core/admin/delete-application.ts';
import { deleteUser } from '../core/admin/delete-user.ts';
import { revokeApiKey } from '../core/admin/revoke-api-key.ts';
import type { AuthTokens } from '../core/auth/auth-tokens.ts';
import type { ApiKeys } from '../core/auth/authenticate-application.ts';
import { completeLogin } from '../core/auth/complete-login.ts';
import { callOf } from './call.ts';

export function createAdminHandlers(tokens: AuthTokens, apiKeys: ApiKeys): ServiceImpl<typeof AdminService> {
  return {
    async createApplication(request, context) {
      const { application, apiKeyId, apiKey } = await createApplication(callOf(context), request);
      return { application: { ...application, redirectUris: [...application.redirectUris] }, apiKeyId, apiKey };
    },

    async deleteApplication(request, context) {
      await deleteApplication(callOf(context), request);
      apiKeys.forgetAll();
      return {};
    },

    async createApiKey(request, context) {
      return createApiKey(callOf(context), request);
    },

    async revokeApiKey(request, context) {
      await revokeApiKey(callOf(context), request);
      apiKeys.forgetAll();
      return {};
    },

    async createUser(request, context) {
      const { name, profileImage, ...user } = await createUser(callOf(context), request);
      return { user: { ...user, ...(name !== null && { name }), ...(profileImage !== null && { profileImage }) } };
    },

    async deleteUser(request, context) {
      await deleteUser(callOf(context), request);
      return {};
    },

    async completeLogin(request, context) {
      return completeLogin(callOf(context), tokens, request);
    },
  };
}
