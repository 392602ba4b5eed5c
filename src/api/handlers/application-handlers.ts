import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import type { ApplicationDetails } from '../../domain/applications/application.ts';
import { createApplication } from '../../domain/applications/create-application.ts';
import { deleteApplication } from '../../domain/applications/delete-application.ts';
import { getApplication } from '../../domain/applications/get-application.ts';
import { listApplications } from '../../domain/applications/list-applications.ts';
import { updateApplication } from '../../domain/applications/update-application.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { AdminHandlers } from './admin-handlers.ts';

export function createApplicationHandlers(apiKeys: ApiKeys, pageTokens: PageTokens) {
  return {
    async createApplication(fields, call) {
      const { application, apiKeyId, apiKey } = await createApplication(call, fields);
      return { application: toApplication(application), apiKeyId, apiKey };
    },

    async getApplication(fields, call) {
      return { application: toApplication(await getApplication(call, fields)) };
    },

    async listApplications(fields, call) {
      const { rows, nextPageToken } = await listApplications(call, pageTokens, fields);
      return { applications: rows.map(toApplication), nextPageToken };
    },

    async updateApplication(fields, call) {
      const application = await updateApplication(call, fields);
      apiKeys.forgetAll();
      return { application: toApplication(application) };
    },

    async deleteApplication(fields, call) {
      await deleteApplication(call, fields);
      apiKeys.forgetAll();
      return {};
    },
  } satisfies Partial<AdminHandlers>;
}

function toApplication({ redirectUris, sessionMaxAgeSeconds, createdAt, ...application }: ApplicationDetails) {
  return {
    ...application,
    redirectUris: [...redirectUris],
    createdAt: timestampFromDate(createdAt),
    ...(sessionMaxAgeSeconds !== null && { sessionMaxAgeSeconds }),
  };
}
