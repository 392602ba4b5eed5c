/** Import and export of users as JSON lines. */
import { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { toMessage } from '../../api/handlers/to-message.ts';
import { createServiceProcedures, type ServiceHandlers } from '../../api/procedures.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { Module } from '../module.ts';
import { batchCreateUsers } from './domain/batch-create-users.ts';
import { exportUsers } from './export-users.ts';
import { createImport } from './import-endpoint.ts';

export const userTransferModule: Module = {
  name: 'user-transfer',
  settings: {},
  createRpcs(_config, { liveSessions, passkeyHost: rpId, providers }) {
    const onSignedOut = (userId: string) => liveSessions.forgetUser(userId);
    const readTarget = () => ({ issuers: providers.issuers, onSignedOut, rpId });
    const handlers: Pick<ServiceHandlers<typeof AdminService>, 'batchCreateUsers'> = {
      batchCreateUsers: async (call, fields) => ({
        results: (await batchCreateUsers(call, readTarget, fields)).map(toMessage),
      }),
    };
    return { procedures: createServiceProcedures(AdminService, handlers, 'adminKey') };
  },
  async open(_config, core) {
    const importUsers = createImport(core);
    const serve = async (context: HttpContext) => {
      if (context.path !== '/admin/users.jsonl') return false;
      await (context.request.method === 'POST' ? importUsers(context) : exportUsers(core, context));
      return true;
    };
    return { laterHandlers: [serve] };
  },
  commands: {
    async 'convert-users'(_config, product, path) {
      const { convertUsers } = await import('./convert/convert-users.ts');
      return convertUsers(product, path, (line) => process.stderr.write(`usher: ${line}\n`));
    },
  },
};
