import type { Demo } from '../../src/modules/demo/demo.ts';
import type { OpenedDemo } from '../../src/modules/demo/module.ts';
import type { UsherServer } from '../../src/server.ts';

/** Returns the demo of a server on the embedded Postgres. */
export function demoOf({ modules }: Pick<UsherServer, 'modules'>): Demo {
  const opened = modules.byName.get('demo') as OpenedDemo | undefined;
  if (!opened) throw new Error('The server has no demo');
  return opened.demo;
}
