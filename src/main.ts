import { existsSync, readFileSync } from 'node:fs';
import { loadEnvFile } from 'node:process';
import type { Logger } from 'pino';
import { loadSwiftly } from './cluster/load-modules.ts';
import type { Config } from './config/config.ts';
import type { UsherServer } from './server.ts';

const PARENT_CHECK_MS = 500;

if (existsSync('.env')) loadEnvFile('.env');

const [{ readConfig }, { describeDemo }, { createLogger }, { startServer }, { createShutdown }] = await loadSwiftly(
  () =>
    Promise.all([
      import('./config/config.ts'),
      import('./demo/demo.ts'),
      import('./log.ts'),
      import('./server.ts'),
      import('./cluster/shutdown.ts'),
    ]),
);

try {
  const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
  const logger = createLogger(config.logLevel);
  const server = await start(config, logger);
  const close = createShutdown(server, logger, config.shutdownTimeoutMs);
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, close);
  if (process.env.npm_lifecycle_event) closeWithParent(close);

  if (server.demo) {
    // Nobody may read what we print.
    process.stdout.on('error', () => {});
    process.stdout.write(describeStart(server.url, config.dataDir, describeDemo(server.url, server.demo)));
  }
} catch (error) {
  process.stderr.write(`usher: ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}

async function start(config: Config, logger: Logger): Promise<UsherServer> {
  if (config.workers === 1) return startServer(config, { logger });
  // A single process does not load what several need.
  const { startWorkers } = await import('./cluster/primary.ts');
  return startWorkers(config, logger);
}

/** npm does not pass on the signal that ends it, and would leave this process behind. */
function closeWithParent(close: () => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) close();
  }, PARENT_CHECK_MS).unref();
}

function describeStart(url: string, dataDir: string, demo: string): string {
  return `
Usher is at ${url}, on its embedded Postgres. Data and secrets are in ${dataDir}.

${demo}
`;
}
