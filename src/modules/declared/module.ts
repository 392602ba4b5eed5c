/** Applications and groups that a file in a repository declares. */
import type { Config } from '../../config/config.ts';
import type { Module } from '../module.ts';
import { type DeclaredConfig, ofDeclared } from './settings.ts';

export const declaredModule: Module<Config & DeclaredConfig> = {
  ...ofDeclared,
  name: 'declared',
  offer({ applicationsFile: text, applicationsPath: path }) {
    // Equivalent: condition: both are of one setting
    if (text === undefined || path === undefined) return {};
    return {
      async open(core) {
        const { openDeclared } = await import('./open-declared.ts');
        return openDeclared({ text, path }, core);
      },
    };
  },
  commands: {
    async applications({ readDatabaseSettings }, action, path) {
      const { runApplications } = await import('./commands.ts');
      return runApplications(readDatabaseSettings, action, path);
    },
    'new-key': async (_settings) => {
      const { createDeclaredKey } = await import('./commands.ts');
      return createDeclaredKey();
    },
  },
};
