/** The console: pages of operators, on a port of their own. */
import type { Module } from '../module.ts';
import { openConsole } from './open-console.ts';
import { type ConsoleConfig, ofConsole } from './settings.ts';

export const consoleModule: Module<ConsoleConfig> = {
  ...ofConsole,
  name: 'console',
  portsOf({ consoleHost: host, consolePort: port }) {
    return port === undefined ? [] : [{ host, port, settings: ['CONSOLE_HOST', 'CONSOLE_PORT'] }];
  },
  offer(config) {
    const isOn = config.consolePort !== undefined || config.databaseUrl === undefined;
    return isOn ? { open: (core) => openConsole(config, core) } : {};
  },
  commands: {
    async console({ readConfig }, email) {
      const { createConsoleLink } = await import('./create-console-link.ts');
      return createConsoleLink(readConfig(), email);
    },
  },
};
