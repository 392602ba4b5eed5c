import { isMessage } from '@bufbuild/protobuf';
import { TimestampSchema, timestampDate } from '@bufbuild/protobuf/wkt';
import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { NO_APPLICATION } from '../../database/audit-schema.ts';
import { createApiKey } from '../../domain/api-keys/create-api-key.ts';
import { listApiKeys } from '../../domain/api-keys/list-api-keys.ts';
import { revokeApiKey } from '../../domain/api-keys/revoke-api-key.ts';
import { rotateApiKey } from '../../domain/api-keys/rotate-api-key.ts';
import { createApplication } from '../../domain/applications/create-application.ts';
import { deleteApplication } from '../../domain/applications/delete-application.ts';
import { getApplication } from '../../domain/applications/get-application.ts';
import { listApplications } from '../../domain/applications/list-applications.ts';
import { updateApplication } from '../../domain/applications/update-application.ts';
import { type AuditEvent, listAuditEvents } from '../../domain/audit/list-audit-events.ts';
import { cancelLogin } from '../../domain/login/cancel-login.ts';
import { completeLogin } from '../../domain/login/complete-login.ts';
import { getLoginIntent } from '../../domain/login/get-login-intent.ts';
import { addApplicationUser } from '../../domain/users/add-application-user.ts';
import { createUser } from '../../domain/users/create-user.ts';
import { deactivateUser } from '../../domain/users/deactivate-user.ts';
import { deleteUser } from '../../domain/users/delete-user.ts';
import { eraseUser } from '../../domain/users/erase-user.ts';
import { getUser } from '../../domain/users/get-user.ts';
import { listUsers } from '../../domain/users/list-users.ts';
import { reactivateUser } from '../../domain/users/reactivate-user.ts';
import { removeApplicationUser } from '../../domain/users/remove-application-user.ts';
import { updateUser } from '../../domain/users/update-user.ts';
import type { ServiceHandlers } from '../procedures.ts';
import type { ServiceParts } from '../services.ts';
import { toMessage } from './to-message.ts';

export function createAdminHandlers({
  apiKeys,
  liveSessions,
  pageTokens,
  tokens,
}: Pick<ServiceParts, 'apiKeys' | 'liveSessions' | 'pageTokens' | 'tokens'>): ServiceHandlers<typeof AdminService> {
  return {
    async createApplication(fields, call) {
      const { application, apiKeyId, apiKey } = await createApplication(call, fields);
      return { application: toMessage(application), apiKeyId, apiKey };
    },
    getApplication: async (fields, call) => ({ application: toMessage(await getApplication(call, fields)) }),
    async listApplications(fields, call) {
      const { rows, nextPageToken } = await listApplications(call, pageTokens, fields);
      return { applications: rows.map(toMessage), nextPageToken };
    },
    async updateApplication(fields, call) {
      const application = await updateApplication(call, fields);
      apiKeys.forgetAll();
      return { application: toMessage(application) };
    },
    async deleteApplication(fields, call) {
      await deleteApplication(call, fields);
      apiKeys.forgetAll();
      return {};
    },

    createApiKey: (fields, call) => createApiKey(call, { ...fields, expiresAt: fromTimestamp(fields.expiresAt) }),
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

    createUser: async (fields, call) => ({ user: toMessage(await createUser(call, fields)) }),
    getUser: async (fields, call) => ({ user: toMessage(await getUser(call, fields)) }),
    async listUsers(fields, call) {
      const { rows, nextPageToken } = await listUsers(call, pageTokens, fields);
      return { users: rows.map(toMessage), nextPageToken };
    },
    updateUser: async (fields, call) => ({ user: toMessage(await updateUser(call, fields)) }),
    async deactivateUser(fields, call) {
      const user = await deactivateUser(call, fields);
      await liveSessions.forgetUser(user.id);
      return { user: toMessage(user) };
    },
    reactivateUser: async (fields, call) => ({ user: toMessage(await reactivateUser(call, fields)) }),
    async eraseUser(fields, call) {
      await liveSessions.forgetUser(await eraseUser(call, fields));
      return {};
    },
    async deleteUser(fields, call) {
      await liveSessions.forgetUser(await deleteUser(call, fields));
      return {};
    },

    async addApplicationUser(fields, call) {
      await addApplicationUser(call, fields);
      return {};
    },
    async removeApplicationUser(fields, call) {
      await liveSessions.forgetUser(await removeApplicationUser(call, fields));
      return {};
    },

    async getLoginIntent(fields, call) {
      const { id, applicationId, applicationName, status, expiresAt } = await getLoginIntent(call, fields);
      const intent = { loginIntentId: id, applicationId, applicationName, state: status, expiresAt };
      return { loginIntent: toMessage(intent) };
    },
    completeLogin: (fields, call) => completeLogin(call, tokens, fields),
    cancelLogin: (fields, call) => cancelLogin(call, tokens.issuer, fields),

    async listAuditEvents(fields, call) {
      const { rows, nextPageToken } = await listAuditEvents(call, pageTokens, fields);
      return { auditEvents: rows.map(toAuditEvent), nextPageToken };
    },
  };
}

/** Converts a Timestamp to a Date. Returns anything else as it is, since validation refuses a wrong type. */
function fromTimestamp(value: unknown): unknown {
  return isMessage(value, TimestampSchema) ? timestampDate(value) : value;
}

function toAuditEvent({ id, applicationId, ...event }: AuditEvent) {
  return { ...toMessage(event), auditEventId: id, ...(applicationId !== NO_APPLICATION && { applicationId }) };
}
