/** `node src/start.js check`: what an operator should know before the first start, and each morning. It changes nothing. */
import { resolveTxt } from 'node:dns/promises';
import { ConfigError, type Environment } from '../config/config.ts';
import { readSettingFile } from '../config/files.ts';
import { readSecrets } from '../config/secrets.ts';
import { describeFailure } from '../database/connection/start-failure.ts';
import { findRunningPostgres } from '../database/embedded/embedded-postgres.ts';
import { type Inspection, openInspection } from '../database/migrate/inspect-database.ts';
import { type Check, type Finding, fail } from '../modules/check.ts';
import { type FullConfig, MODULES, readFullConfig } from '../modules/modules.ts';
import { ADDRESS_CHECKS } from './address-checks.ts';
import type { FullContext } from './check-context.ts';
import { DATABASE_CHECKS } from './database-checks.ts';
import { KEY_CHECKS } from './key-checks.ts';
import { MAIL_CHECKS } from './mail-checks.ts';
import { reachUsher } from './reach-usher.ts';
import { SETTING_CHECKS } from './setting-checks.ts';

const CHECKS: readonly Check<FullContext>[] = [
  ...SETTING_CHECKS,
  ...DATABASE_CHECKS,
  ...KEY_CHECKS,
  ...ADDRESS_CHECKS,
  ...MAIL_CHECKS,
  ...MODULES.flatMap(({ checks = [] }) => checks),
];

/** Parts that a test replaces. */
export type CheckOverrides = Partial<Pick<FullContext, 'resolveTxt' | 'systemClock'>>;

/** Never rejects: what cannot be checked is a finding. */
export async function runChecks(env: Environment, overrides: CheckOverrides = {}): Promise<readonly Finding[]> {
  const config = readSettings(env);
  if (Array.isArray(config)) return config;
  await using stack = new AsyncDisposableStack();
  const [secrets, database] = await Promise.all([
    readSecrets(config.secrets, config.dataDir).catch((error: Error) => error),
    openDatabase(config).catch((error: Error) => error),
  ]);
  if (secrets instanceof Error) return [toFinding('secrets', ['DATA_DIR'], secrets.message)];
  const inspection = database instanceof Error ? undefined : database && stack.use(database);
  const usher = await reachUsher(config, secrets);
  const context: FullContext = {
    config,
    database,
    env,
    publicUrl: usher.publicUrl,
    read: inspection?.read,
    readKeySet: usher.readKeySet,
    resolveTxt,
    secrets,
    systemClock: Date.now,
    usher,
    ...overrides,
  };
  const found = await Promise.all(CHECKS.map((each) => runCheck(each, context)));
  return found.flat();
}

async function runCheck({ check, settings, run }: Check<FullContext>, context: FullContext): Promise<Finding[]> {
  const found = await run(context).catch((error) => [fail(describeFailure(error), 'This could not be checked')]);
  return found.map((each) => ({ check, settings, ...each }));
}

/** Returns the settings, or what is wrong with them: then nothing else can be checked. */
function readSettings(env: Environment): FullConfig | Finding[] {
  try {
    return readFullConfig(env, readSettingFile);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findNames = (what: string) => what.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\b(?:HOST|PORT)\b/g) ?? [];
    return error.problems.map((what) => toFinding('settings', findNames(what), what));
  }
}

function toFinding(check: string, settings: readonly string[], what: string): Finding {
  return { check, settings, ...fail(what, 'Usher does not start. Correct it, and check again') };
}

/** Returns undefined if the embedded Postgres does not run: to start it would change its files. */
async function openDatabase(config: FullConfig): Promise<Inspection | undefined> {
  const url = config.databaseUrl ?? (await findRunningPostgres(config.dataDir));
  return url === undefined ? undefined : openInspection(url, config.databaseSchema);
}

const EXIT_CODES = { ok: 0, warning: 2, failure: 1 };

export interface Report {
  readonly text: string;
  readonly exitCode: number;
}

export function renderFindings(findings: readonly Finding[], { asJson }: { readonly asJson: boolean }): Report {
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length;
  const counts = { failures: count('failure'), warnings: count('warning'), ok: count('ok') };
  const worst = counts.failures > 0 ? 'failure' : counts.warnings > 0 ? 'warning' : 'ok';
  const summary = `${counts.failures} failures, ${counts.warnings} warnings, ${counts.ok} ok`;
  const text = asJson
    ? JSON.stringify({ ...counts, findings }, null, 2)
    : [...findings.map(renderFinding), summary].join('\n');
  return { text: `${text}\n`, exitCode: EXIT_CODES[worst] };
}

function renderFinding({ level, check, what, why, settings }: Finding): string {
  const reason = why === undefined ? '' : `. ${why}`;
  const line = `${level.padEnd(8)} ${check}: ${what}${reason}${level === 'ok' ? '' : ` [${settings.join(', ')}]`}`;
  // Names of servers and of files may hold anything.
  return line.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ');
}
