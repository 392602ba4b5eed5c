import { existsSync } from 'node:fs';
import { loadEnvFile } from 'node:process';
import type { Logger } from 'pino';
import { type Config, readDatabaseSettings } from './config/config.ts';
import { readSettingFile } from './config/files.ts';
import { nameSettings } from './config/name-settings.ts';
import { requireFreePorts } from './config/require-free-ports.ts';
import { findMisspeltSettings, findRemovedSettings } from './config/unused-settings.ts';
import { describeFailure } from './database/connection/start-failure.ts';
import { distributeTables } from './database/migrate/distribute.ts';
import { migrateDatabase } from './database/migrate/migrate.ts';
import { renderFirstScreen } from './first-screen.ts';
import { createLogger } from './log.ts';
import type { Module } from './modules/module.ts';
import { ALL_SETTINGS, type FullConfig, MODULES, readFullConfig } from './modules/modules.ts';
import { portsOfModules } from './modules/open-modules.ts';
import { Progress } from './progress.ts';
import { startServer } from './server.ts';
import { createShutdown } from './shutdown.ts';

const SETTING_NAMES = Object.values(ALL_SETTINGS).map(({ name }) => name);

const PARENT_CHECK_MS = 500;

if (existsSync('.env')) loadEnvFile('.env');

try {
  const [, , command, ...given] = process.argv;
  if (command === undefined) await serve();
  else await runCommand(command, given);
} catch (error) {
  process.stderr.write(`usher: ${describeFailure(error)}\n`);
  process.exit(1);
}

async function check(format: string | undefined): Promise<void> {
  if (format !== undefined && format !== '--json') throw new Error('check takes --json, and no other argument');
  const { renderFindings, runChecks } = await import('./check/run-checks.ts');
  const { text, exitCode } = renderFindings(await runChecks(process.env), { asJson: format !== undefined });
  process.stdout.write(text, () => process.exit(exitCode));
}

async function proveBackup(file: string | undefined): Promise<void> {
  if (file === undefined) throw new Error('check-backup needs the file of a dump');
  const { checkBackup } = await import('./check/check-backup.ts');
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stopping.abort());
  process.stdout.write(await checkBackup(readEnvironment(), file, stopping.signal));
}

async function distribute(): Promise<void> {
  const { databaseUrl, schema } = await migrate();
  using progress = new Progress(writeStep);
  const distributions = await distributeTables(databaseUrl, schema, progress.report);
  progress.end();
  if (distributions.length === 0) process.stdout.write('Every table is distributed already\n');
  for (const { table, column } of distributions)
    process.stdout.write(`${table}: ${column === null ? 'a copy on every server' : `distributed by ${column}`}\n`);
}

async function migrate() {
  const settings = readDatabaseSettings(process.env);
  const onWait = (reason: string) => process.stderr.write(`usher: migrations wait: ${reason}\n`);
  using progress = new Progress(writeStep);
  const options = { schema: settings.schema, onWait, onProgress: progress.report };
  const { migrated } = await migrateDatabase(settings.databaseUrl, options);
  progress.end();
  process.stdout.write(migrated === 0 ? 'No migration is pending\n' : `Migrations applied: ${migrated}\n`);
  return settings;
}

function writeStep(step: string): void {
  process.stderr.write(`usher: ${step}\n`);
}

async function runCommand(name: string, given: readonly string[]): Promise<void> {
  const own: Readonly<Record<string, (...given: string[]) => Promise<unknown>>> = {
    migrate,
    distribute,
    check,
    'check-backup': proveBackup,
  };
  const ofModules = Object.assign({}, ...MODULES.map(({ commands }) => commands)) as NonNullable<Module['commands']>;
  const names = [...Object.keys(own), ...Object.keys(ofModules)];
  if (!names.includes(name)) throw new Error(`There is no command ${name}, but ${names.join(', ')}`);
  const ofModule = ofModules[name];
  // The first parameter of a module is the settings.
  const most = ofModule ? ofModule.length - 1 : (own[name]?.length ?? 0);
  if (given.length > most) throw new Error(`${name} takes ${most === 0 ? 'no argument' : `${most} argument at most`}`);
  if (!ofModule) return void (await own[name]?.(...given));
  const settings = { readConfig: readEnvironment, readDatabaseSettings: () => readDatabaseSettings(process.env) };
  const result = await ofModule(settings, ...given);
  const { output, exitCode } = typeof result === 'string' ? { output: result, exitCode: undefined } : result;
  process.stdout.write(output);
  process.exitCode = exitCode;
}

async function serve(): Promise<void> {
  const config = readEnvironment();
  const logger = createLogger(config.logLevel);
  const variables = Object.keys(process.env);
  for (const found of findMisspeltSettings(SETTING_NAMES, variables)) logger.warn(found, 'setting is unknown');
  for (const found of findRemovedSettings(variables)) logger.warn(found, 'setting has no effect any more');
  if (config.databaseUrl && !process.env.PUBLIC_URL) logger.warn('PUBLIC_URL is not set, so logins lead to localhost');
  const fatal = Promise.withResolvers<void>();
  // Set before the start, because the first process of a container ignores signals that have no handler.
  let close = async (exitCode: number): Promise<void> => process.exit(exitCode);
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => close(0));
  // First, so that a start with an unusable port fails before it creates a database.
  const { host, port, metricsHost, metricsPort = 0 } = config;
  await requireFreePorts([
    { host, port, settings: ['HOST', 'PORT'] },
    { host: metricsHost, port: metricsPort, settings: ['METRICS_HOST', 'METRICS_PORT'] },
    ...portsOfModules(config),
  ]);
  const metrics = await openMetrics(config, logger);
  using progress = new Progress((doing) => logger.warn({ doing }, 'still starting'));
  const server = await startServer(config, { logger, onFatal: fatal.resolve, onProgress: progress.report });
  progress.end();
  const { url, modules } = server;
  if (isOtherPort(config.publicUrl, url)) {
    logger.warn({ publicUrl: config.publicUrl, url }, 'PUBLIC_URL has another port than this server');
  }
  if (server.collect) metrics?.serve(server.collect);
  close = createShutdown(server, logger, config);
  if (process.env.npm_lifecycle_event) closeWithParent(() => close(0));
  fatal.promise.then(() => close(1));

  if (config.databaseUrl === undefined) {
    // If the reader of stdout is gone, a write must not end the process.
    process.stdout.on('error', () => {});
    const { dataDir, publicUrl = url } = config;
    const { greetings } = modules;
    process.stdout.write(renderFirstScreen({ url, publicUrl, greetings, dataDir, metricsUrl: metrics?.url }));
  }
}

/** Returns whether the URL is on this machine, and leads to something else, such as a tunnel or nothing. */
function isOtherPort(publicUrl: string | undefined, url: string): boolean {
  const { hostname = '', port = '' } = publicUrl ? new URL(publicUrl) : {};
  return /^(localhost|127\..*|\[::1\])$/.test(hostname) && port !== new URL(url).port;
}

function readEnvironment(): FullConfig {
  return readFullConfig(process.env, readSettingFile);
}

async function openMetrics({ metricsHost: host, metricsPort: port }: Config, logger: Logger) {
  if (port === undefined) return undefined;
  const { openMetricsServer } = await import('./metrics/metrics-server.ts');
  return openMetricsServer({ host, port, logger }).catch(nameSettings('METRICS_HOST', 'METRICS_PORT'));
}

/**
 * Calls `close` when the parent has changed: npm does not forward the signal that ends it, so its end is the only sign.
 */
function closeWithParent(close: () => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) close();
  }, PARENT_CHECK_MS).unref();
}
