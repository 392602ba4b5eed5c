/** Import and export of users as JSON lines. */
import type { Config } from '../../config/config.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { Module } from '../module.ts';
import { exportUsers } from './export-users.ts';
import { createImport } from './import-endpoint.ts';

/** Of other modules, if they are there. */
type Others = {
  readonly loginProviders?: readonly { readonly id: string; readonly issuer: string }[];
  readonly passkeyRpId?: string | undefined;
};

export const userTransferModule: Module<Config & Others> = {
  name: 'user-transfer',
  settings: {},
  async open({ loginProviders = [], passkeyRpId }, core) {
    const issuers = new Map(loginProviders.map(({ id, issuer }) => [id, issuer]));
    const rpId = passkeyRpId ?? new URL(core.authPageUrl).hostname;
    const importUsers = createImport(core, { issuers, rpId });
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
