import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import { createApplication } from '../../domain/applications/create-application.ts';
import { deleteApplication } from '../../domain/applications/delete-application.ts';
import { getApplication } from '../../domain/applications/get-application.ts';
import { listApplications } from '../../domain/applications/list-applications.ts';
import { updateApplication } from '../../domain/applications/update-application.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { OpenHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

export function createApplicationHandlers(apiKeys: ApiKeys, pageTokens: PageTokens) {
  return {
    async createApplication(fields, call) {
      const { application, apiKeyId, apiKey } = await createApplication(call, fields);
      return { application: toMessage(application), apiKeyId, apiKey };
    },

    async getApplication(fields, call) {
      return { application: toMessage(await getApplication(call, fields)) };
    },

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
  } satisfies Partial<OpenHandlers<typeof AdminService>>;
}
