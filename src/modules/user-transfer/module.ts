/** The command that converts exports of other products to files that an import takes. */
import type { Module } from '../module.ts';

export const userTransferModule: Module = {
  name: 'user-transfer',
  settings: {},
  commands: {
    async 'convert-users'(_config, product, path) {
      const { convertUsers } = await import('./convert/convert-users.ts');
      return convertUsers(product, path, (line) => process.stderr.write(`usher: ${line}\n`));
    },
  },
};
