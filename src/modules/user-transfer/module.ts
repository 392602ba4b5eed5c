/** Import and export of users as JSON lines. */
import type { HttpContext } from '../../http/http-context.ts';
import type { Module } from '../module.ts';
import { exportUsers } from './export-users.ts';
import { createImport } from './import-endpoint.ts';

export const userTransferModule: Module = {
  name: 'user-transfer',
  settings: {},
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
