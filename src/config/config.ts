import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isLoginMethod, type LoginMethod, METHODS_RULE, type OfferedMethod } from './login-methods.ts';
import type { Secrets } from './secrets.ts';
import type { Setting, Settings } from './setting.ts';
import { SETTINGS, type SettingValues } from './settings.ts';

type Secret = keyof Secrets;
type Paired = 'smtpUrl' | 'mailFrom' | 'tlsCert' | 'tlsKey';

/** A certificate and its private key. Each is a PEM text, or in `files` of the config the path of one. */
export interface CertificateTexts {
  readonly cert: string;
  readonly key: string;
}

export function isKeyPair({ cert, key }: CertificateTexts): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** The settings, grouped by subject. */
export interface Config extends Omit<SettingValues, Secret | Paired | 'loginMethods'> {
  /** Those of Usher itself. */
  readonly loginMethods: readonly LoginMethod[];
  readonly blockedEmailDomainsFile: string | undefined;
  /** The paths of the files of keys, which are read again when they change. */
  readonly keyFiles: Readonly<Record<'auth' | 'encryption' | 'oidc', string | undefined>>;
  /** Complete if `databaseUrl` is set. Otherwise the start generates the missing secrets in `dataDir`. */
  readonly secrets: Partial<Secrets>;
  /** Undefined: the subjects of e-mails, which have the login codes, go to the terminal. */
  readonly smtp: { readonly url: string; readonly from: string } | undefined;
  /** In PEM. `files` has the paths, which are read again for renewed certificates. */
  readonly tls: (CertificateTexts & { readonly files?: CertificateTexts }) | undefined;
}

/** The message names every wrong setting. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    // One line, whatever a setting holds.
    super(`Invalid settings: ${problems.join('; ').replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')}`);
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;
type ReadFile = (path: string) => string;

/** The default of PUBLIC_URL, without the port: checks need only the host. */
const LOCALHOST = 'http://localhost';

/** Expiry keeps pending deliveries for this many days longer than the log of webhooks. */
const REDELIVERY_DAYS = 4;
const DAY_SECONDS = 86_400;

/** The values of the core, and the URL of Usher also if none is set. */
interface CoreValues extends SettingValues {
  readonly publicUrl: string;
}

/** What a module adds to the settings. */
export interface ModuleSettings<Own extends object = object> {
  readonly settings: Settings;
  /** Returns the names that it adds to LOGIN_METHODS. */
  offerMethods?(values: CoreValues & Own): readonly OfferedMethod[];
  /** Returns the fields that follow from the environment beside those of `settings`, and adds problems between settings. */
  complete?(env: Environment, problems: string[], values: CoreValues & Own): object;
}

/**
 * Reads the settings from the environment. `readFile` returns the text of a file. The result also has the fields of the
 * modules.
 *
 * @throws ConfigError
 */
export function readConfig(env: Environment, readFile: ReadFile, modules: readonly ModuleSettings[] = []): Config {
  const problems: string[] = [];
  const readAll = (settings: Settings) =>
    Object.fromEntries(
      Object.entries(settings).map(([key, setting]) => [key, readValue(setting, { env, readFile, problems })]),
    );
  const all = readAll(SETTINGS) as SettingValues;
  const { adminKey, authSigningKeys, encryptionKeys, oidcSigningKeys, ...values } = all;
  const { smtpUrl, mailFrom, tlsCert, tlsKey, loginMethods: methods, ...others } = values;
  const core: CoreValues = { ...all, publicUrl: others.publicUrl ?? LOCALHOST };
  const ofModules = modules.map((module) => {
    const own = readAll(module.settings);
    const offered = module.offerMethods?.({ ...core, ...own }) ?? [];
    return { offered, values: { ...own, ...module.complete?.(env, problems, { ...core, ...own }) } };
  });
  const offered = [offerCodes(env), ...ofModules.flatMap((module) => module.offered)];
  const loginMethods = (
    methods ?? offered.flatMap(({ name, problem }) => (problem === undefined ? [name] : []))
  ).filter(isLoginMethod);
  const files = { cert: env.TLS_CERT_FILE ?? '', key: env.TLS_KEY_FILE ?? '' };
  const tls = tlsCert !== undefined && tlsKey !== undefined ? { cert: tlsCert, key: tlsKey, files } : undefined;

  if (tls && !isKeyPair(tls))
    problems.push('TLS_CERT_FILE and TLS_KEY_FILE must hold a certificate and its key in PEM');
  if (!env.AUTH_PAGE_URL) {
    const wanted = offered.filter(({ name }) => methods?.includes(name));
    problems.push(...wanted.flatMap(({ problem }) => problem ?? []));
  }
  if (methods?.some((method) => offered.every(({ name }) => name !== method))) {
    problems.push(`LOGIN_METHODS ${METHODS_RULE}`);
  }
  if (others.adminKeys.some(({ key }) => key === adminKey)) {
    problems.push('ADMIN_KEYS_FILE must not hold the key of ADMIN_KEY');
  }
  if (env.SIGN_IN_LOG_DAYS && others.signInLogDays > others.auditLogDays) {
    problems.push('SIGN_IN_LOG_DAYS must be AUDIT_LOG_DAYS at most');
  }
  const retrySeconds = others.webhookRetrySchedule.reduce((sum, seconds) => sum + seconds, 0);
  if (retrySeconds > (others.webhookLogDays + REDELIVERY_DAYS) * DAY_SECONDS) {
    problems.push(`WEBHOOK_RETRY_SCHEDULE must end within WEBHOOK_LOG_DAYS and ${REDELIVERY_DAYS} more days`);
  }
  if (problems.length > 0) throw new ConfigError(problems);

  return {
    ...Object.assign({}, ...ofModules.map(({ values: given }) => given)),
    ...others,
    signInLogDays: Math.min(others.signInLogDays, others.auditLogDays),
    loginMethods,
    blockedEmailDomainsFile: env.BLOCKED_EMAIL_DOMAINS_FILE || undefined,
    keyFiles: {
      auth: env.AUTH_SIGNING_KEYS_FILE || undefined,
      encryption: env.ENCRYPTION_KEY_FILE || undefined,
      oidc: env.OIDC_SIGNING_KEYS_FILE || undefined,
    },
    secrets: {
      ...(adminKey && { adminKey }),
      ...(authSigningKeys && { authSigningKeys }),
      ...(encryptionKeys && { encryptionKeys }),
      // All replicas need the same keys, so Usher generates them only in the embedded mode.
      ...((oidcSigningKeys || env.DATABASE_URL) && { oidcSigningKeys: oidcSigningKeys ?? [] }),
    },
    smtp: smtpUrl && mailFrom ? { url: smtpUrl, from: mailFrom } : undefined,
    tls,
  };
}

/** Returns the method of the core. */
function offerCodes(env: Environment): OfferedMethod {
  // The embedded mode shows codes in the terminal.
  const canMail = !env.DATABASE_URL || Boolean(env.SMTP_URL);
  const problem = canMail ? undefined : 'SMTP_URL is required with DATABASE_URL for LOGIN_METHODS with email';
  return { name: 'email', problem };
}

/** Reads only the settings of the database, for commands that need no other. @throws Error of one line */
export function readDatabaseSettings(env: Environment): { readonly databaseUrl: string; readonly schema: string } {
  const problems: string[] = [];
  const source = { env, readFile: String, problems };
  const databaseUrl = readValue(SETTINGS.databaseUrl, source);
  const schema = readValue(SETTINGS.databaseSchema, source);
  if (problems.length > 0) throw new ConfigError(problems);
  if (!databaseUrl) throw new Error('DATABASE_URL is required');
  return { databaseUrl, schema };
}

interface Source {
  readonly env: Environment;
  readonly readFile: ReadFile;
  /** `readValue` adds the problem of its setting. */
  readonly problems: string[];
}

/** Treats an empty variable as not set, and returns the default if the value is wrong. */
function readValue<Value>(
  { name, parse, isFile, requiredWith, ...setting }: Setting<Value>,
  { env, readFile, problems }: Source,
): Value {
  const text = env[name];
  if (!text && requiredWith && env[requiredWith]) problems.push(`${name} is required with ${requiredWith}`);
  if (!text) return setting.default;
  try {
    return parse(isFile ? readText(text, readFile) : text);
  } catch (error) {
    problems.push(`${name} ${error instanceof Error ? error.message : error}`);
    return setting.default;
  }
}

function readText(path: string, readFile: ReadFile): string {
  try {
    return readFile(path);
  } catch (error) {
    // Do not quote the path: by mistake it may be the secret itself.
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    throw new Error(`names a file that cannot be read${code}`);
  }
}
