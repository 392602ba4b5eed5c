/** Settings from the environment, checked all at once. */
import type { BlockList } from 'node:net';
import { parseTrustedProxies } from '../http/client-address.ts';
import { LOGIN_METHODS, type LoginMethod } from './login-methods.ts';
import {
  integerBetween,
  isKeyPair,
  oneOf,
  parseDatabaseUrl,
  parseForeignUrl,
  parseLoginMethods,
  parseProxyList,
  parsePublicUrl,
  parseSmtpUrl,
  readText,
} from './parse-setting.ts';
import { parseAdminKey, parseAuthSigningKeys, parseEncryptionKeys, type Secrets } from './secrets.ts';

export interface Config {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Undefined: the host, or localhost where that is a loopback or the unspecified address, and the port, once it is known. */
  readonly publicUrl: string | undefined;
  /** Undefined: the login page of Usher itself, `/login` below the public URL. */
  readonly authPageUrl: string | undefined;
  readonly loginMethods: readonly LoginMethod[];
  /** Undefined: codes are shown in the terminal; only with an embedded Postgres. */
  readonly smtp: { readonly url: string; readonly from: string } | undefined;
  /** An issuer other than Usher whose auth tokens are accepted. */
  readonly authIssuer: { readonly issuer: string; readonly jwksUrl: string } | undefined;
  /** Undefined: an embedded Postgres in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** Complete with `databaseUrl`; else what is missing is generated into `dataDir`. */
  readonly secrets: Partial<Secrets>;
  readonly trustedProxies: BlockList;
  /** Connections to Postgres of each process. */
  readonly databaseConnections: number;
  /** Processes that serve; a single one does so by itself. */
  readonly workers: number;
  readonly logLevel: string;
  readonly requestTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  /** PEM. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

/** Names every setting that is wrong. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`Invalid settings: ${problems.join('; ')}`);
  }
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const MAX_TIMEOUT_MS = 600_000;
/** The embedded Postgres takes 200 connections, and processes have more of them than lanes. */
const MAX_EMBEDDED_CONNECTIONS = 128;

/** Those that hold a secret themselves, not the name of its file. */
export const SECRET_SETTINGS = ['ADMIN_KEY', 'DATABASE_URL', 'SMTP_URL'];

/** Pure but for `readFile`, which returns a file's text. Throws a ConfigError. */
export function readConfig(env: Record<string, string | undefined>, readFile: (path: string) => string): Config {
  const problems: string[] = [];

  /** The parsed setting, or undefined where it is not set or, which is noted, not valid. */
  function read<T>(name: string, parse: (text: string) => T): T | undefined {
    const text = env[name];
    if (text === undefined || text === '') return undefined;
    try {
      return parse(text);
    } catch (error) {
      problems.push(`${name} ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
  }
  const readFrom = <T>(name: string, parse: (text: string) => T) =>
    read(name, (path) => parse(readText(path, readFile)));

  const secrets = {
    adminKey: read('ADMIN_KEY', parseAdminKey),
    authSigningKeys: readFrom('AUTH_SIGNING_KEYS_FILE', parseAuthSigningKeys),
    encryptionKeys: readFrom('ENCRYPTION_KEY_FILE', parseEncryptionKeys),
  };
  const databaseUrl = read('DATABASE_URL', parseDatabaseUrl);
  const cert = readFrom('TLS_CERT_FILE', (text) => text);
  const key = readFrom('TLS_KEY_FILE', (text) => text);
  const tls = cert !== undefined && key !== undefined ? { cert, key } : undefined;

  if (env.DATABASE_URL) {
    for (const name of ['ADMIN_KEY', 'AUTH_SIGNING_KEYS_FILE', 'ENCRYPTION_KEY_FILE']) {
      if (!env[name]) problems.push(`${name} is required with DATABASE_URL`);
    }
  }
  if (!env.TLS_CERT_FILE !== !env.TLS_KEY_FILE) problems.push('TLS_CERT_FILE and TLS_KEY_FILE must be set together');
  else if (tls && !isKeyPair(tls))
    problems.push('TLS_CERT_FILE and TLS_KEY_FILE must hold a certificate and its key in PEM');

  const smtpUrl = read('SMTP_URL', parseSmtpUrl);
  const canMail = !env.DATABASE_URL || Boolean(env.SMTP_URL);
  const loginMethods = read('LOGIN_METHODS', parseLoginMethods);
  if (env.SMTP_URL && !env.MAIL_FROM) problems.push('MAIL_FROM is required with SMTP_URL');
  if (!env.AUTH_PAGE_URL && loginMethods?.includes('email') && !canMail) {
    problems.push('SMTP_URL is required with DATABASE_URL for LOGIN_METHODS with email');
  }
  const jwksUrl = read('AUTH_JWKS_URL', parseForeignUrl);
  if (!env.AUTH_ISSUER !== !env.AUTH_JWKS_URL) problems.push('AUTH_ISSUER and AUTH_JWKS_URL must be set together');
  if (env.AUTH_ISSUER && env.AUTH_ISSUER === env.PUBLIC_URL) problems.push('AUTH_ISSUER must not be PUBLIC_URL');

  const databaseConnections = read('DATABASE_CONNECTIONS', integerBetween(1, 64)) ?? 4;
  const workers = read('WORKERS', integerBetween(1, 64)) ?? 1;
  if (!env.DATABASE_URL && workers * databaseConnections > MAX_EMBEDDED_CONNECTIONS) {
    problems.push(
      `WORKERS times DATABASE_CONNECTIONS must be at most ${MAX_EMBEDDED_CONNECTIONS} without DATABASE_URL`,
    );
  }

  const config: Config = {
    host: read('HOST', (host) => host) ?? '127.0.0.1',
    port: read('PORT', integerBetween(0, 65_535)) ?? 8080,
    publicUrl: read('PUBLIC_URL', parsePublicUrl),
    authPageUrl: read('AUTH_PAGE_URL', parseForeignUrl),
    loginMethods: loginMethods ?? (canMail ? LOGIN_METHODS : ['wallet']),
    smtp: smtpUrl && env.MAIL_FROM ? { url: smtpUrl, from: env.MAIL_FROM } : undefined,
    authIssuer: env.AUTH_ISSUER && jwksUrl ? { issuer: env.AUTH_ISSUER, jwksUrl } : undefined,
    databaseUrl,
    dataDir: read('DATA_DIR', (directory) => directory) ?? '.data',
    secrets: Object.fromEntries(Object.entries(secrets).filter(([, secret]) => secret !== undefined)),
    trustedProxies: read('TRUSTED_PROXIES', parseProxyList) ?? parseTrustedProxies([]),
    databaseConnections,
    workers,
    logLevel: read('LOG_LEVEL', oneOf(LOG_LEVELS)) ?? 'info',
    requestTimeoutMs: read('REQUEST_TIMEOUT_MS', integerBetween(1, MAX_TIMEOUT_MS)) ?? 5_000,
    shutdownTimeoutMs: read('SHUTDOWN_TIMEOUT_MS', integerBetween(1, MAX_TIMEOUT_MS)) ?? 10_000,
    tls,
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}
