/** Usher with its demo application, on a database that counts as embedded: a real one takes seconds to create. */
import { bootstrap } from '../../src/bootstrap.ts';
import type { LoginMethod } from '../../src/config/login-methods.ts';
import { createLogger } from '../../src/log.ts';
import type { Demo } from '../../src/modules/demo/demo.ts';
import type { OpenedDemo } from '../../src/modules/demo/module.ts';
import { startServer, type UsherServer } from '../../src/server.ts';
import { TestClock } from './clock.ts';
import { cloneDatabase } from './database.ts';
import { createDirectory } from './directory.ts';
import { LOGIN_CONFIG } from './login-browser.ts';
import { Mailbox } from './mail-server.ts';
import { testConfig } from './service.ts';

export type DemoFixture = Awaited<ReturnType<typeof openDemoFixture>>;

/** By default, people can sign in in every way. */
export async function openDemoFixture(loginMethods: readonly LoginMethod[] = ['wallet', 'email', 'passkey']) {
  await using stack = new AsyncDisposableStack();
  const dataDir = await createDirectory();
  const database = stack.use(await cloneDatabase());
  const config = { ...testConfig(database.url), ...LOGIN_CONFIG, loginMethods, publicUrl: undefined, dataDir };
  const logger = createLogger('silent');
  const base = stack.use(await bootstrap(config, { logger }));
  const [clock, mailbox] = [new TestClock(), new Mailbox()];
  const all = stack.move();
  const start = async () => {
    const service = await startServer(
      { ...config, databaseUrl: undefined },
      { bootstrap: base, clock: clock.read, sendMail: mailbox.sendMail, logger },
    );
    all.defer(() => service.close());
    return service;
  };
  const service = await start();
  return {
    clock,
    database,
    mailbox,
    service,
    /** Holds the file of the demo. */
    dataDir,
    /** Starts another service with the same data. */
    startAgain: start,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Returns the demo of a server on the embedded Postgres. */
export function demoOf({ modules }: Pick<UsherServer, 'modules'>): Demo {
  const opened = modules.byName.get('demo') as OpenedDemo | undefined;
  if (!opened) throw new Error('The server has no demo');
  return opened.demo;
}
