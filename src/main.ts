import { existsSync, readFileSync } from 'node:fs';
import { loadEnvFile } from 'node:process';
import { readConfig } from './config.ts';
import { describeDemo } from './demo/demo.ts';
import { startService } from './service.ts';

/** How long the database may take to close once the last call is done. */
const CLOSE_GRACE_MS = 5_000;

const PARENT_CHECK_MS = 500;

if (existsSync('.env')) loadEnvFile('.env');

try {
  const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
  const service = await startService(config);
  if (service.demo)
    process.stdout.write(describeStart(service.url, config.dataDir, describeDemo(service.url, service.demo)));

  let isClosing = false;
  const close = async () => {
    // A Ctrl-C below npm arrives twice.
    if (isClosing) return;
    isClosing = true;
    // What is still open when the time is up, a database that hangs for one, is left behind.
    setTimeout(() => process.exit(1), config.shutdownTimeoutMs + CLOSE_GRACE_MS).unref();
    await service.close();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, close);
  if (process.env.npm_lifecycle_event) closeWithParent(close);
} catch (error) {
  process.stderr.write(`usher: ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}

/** npm that is ended by a signal does not pass it on, and would leave us behind. */
function closeWithParent(close: () => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) close();
  }, PARENT_CHECK_MS).unref();
}

function describeStart(url: string, dataDir: string, demo: string): string {
  return `
Usher is at ${url}, on a Postgres of its own. Data and secrets are in ${dataDir}.

${demo}
`;
}
