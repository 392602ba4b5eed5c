import { existsSync, readFileSync } from 'node:fs';
import { loadEnvFile } from 'node:process';
import { readConfig } from './config.ts';
import { describeDemo } from './demo.ts';
import { startService } from './service.ts';

if (existsSync('.env')) loadEnvFile('.env');

try {
  const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
  const service = await startService(config);
  if (service.demo)
    process.stdout.write(describeStart(service.url, config.dataDir, describeDemo(service.url, service.demo)));

  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, async () => {
      // What is still open when the time is up, a database that hangs for one, is left behind.
      setTimeout(() => process.exit(1), config.shutdownTimeoutMs + 5_000).unref();
      await service.close();
      process.exit(0);
    });
  }
} catch (error) {
  process.stderr.write(`usher: ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}

function describeStart(url: string, dataDir: string, demo: string): string {
  return `
Usher is at ${url}, on a Postgres of its own. Data and secrets are in ${dataDir}.

${demo}
`;
}
