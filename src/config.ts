/** Settings from the environment, checked all at once. */
import type { BlockList } from 'node:net';
import { createSecureContext } from 'node:tls';
import { parseTrustedProxies } from './net/client-address.ts';
import { parseEncryptionKeys, parseSigningKeys, type Secrets } from './secrets.ts';

export interface Config {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Undefined: localhost and the port, once it is known. */
  readonly publicUrl: string | undefined;
  /** Undefined: `/login` below the public URL. */
  readonly authPageUrl: string | undefined;
  /** Undefined: an embedded Postgres in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** Complete with `databaseUrl`; else what is missing is generated into `dataDir`. */
  readonly secrets: Partial<Secrets>;
  readonly trustedProxies: BlockList;
  readonly databaseLanes: number;
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
    signingKeys: readFrom('AUTH_SIGNING_KEYS_FILE', parseSigningKeys),
    encryptionKeys: readFrom('ENCRYPTION_KEY_FILE', parseEncryptionKeys),
  };
  const databaseUrl = read('DATABASE_URL', parseDatabaseUrl);
  const tls = readFrom('TLS_CERT_FILE', (cert) => ({ cert, key: readFrom('TLS_KEY_FILE', (key) => key) ?? '' }));

  if (env.DATABASE_URL) {
    for (const name of ['ADMIN_KEY', 'AUTH_SIGNING_KEYS_FILE', 'ENCRYPTION_KEY_FILE']) {
      if (!env[name]) problems.push(`${name} is required with DATABASE_URL`);
    }
  }
  if (!env.TLS_CERT_FILE !== !env.TLS_KEY_FILE) problems.push('TLS_CERT_FILE and TLS_KEY_FILE must be set together');
  else if (tls && !isKeyPair(tls))
    problems.push('TLS_CERT_FILE and TLS_KEY_FILE must hold a certificate and its key in PEM');

  const config: Config = {
    host: read('HOST', (host) => host) ?? '127.0.0.1',
    port: read('PORT', integerBetween(0, 65_535)) ?? 8080,
    publicUrl: read('PUBLIC_URL', parsePublicUrl),
    authPageUrl: read('AUTH_PAGE_URL', parseAuthPageUrl),
    databaseUrl,
    dataDir: read('DATA_DIR', (directory) => directory) ?? '.data',
    secrets: Object.fromEntries(Object.entries(secrets).filter(([, secret]) => secret !== undefined)),
    trustedProxies: read('TRUSTED_PROXIES', parseProxyList) ?? parseTrustedProxies([]),
    databaseLanes: read('DATABASE_LANES', integerBetween(1, 64)) ?? 4,
    logLevel: read('LOG_LEVEL', oneOf(LOG_LEVELS)) ?? 'info',
    requestTimeoutMs: read('REQUEST_TIMEOUT_MS', integerBetween(1, MAX_TIMEOUT_MS)) ?? 5_000,
    shutdownTimeoutMs: read('SHUTDOWN_TIMEOUT_MS', integerBetween(1, MAX_TIMEOUT_MS)) ?? 10_000,
    tls,
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function readText(path: string, readFile: (path: string) => string): string {
  try {
    return readFile(path);
  } catch {
    throw new Error(`names a file that cannot be read: ${path}`);
  }
}

function parseAdminKey(text: string): string {
  if (text.length < 32) throw new Error('must have at least 32 characters');
  return text;
}

function parseDatabaseUrl(text: string): string {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) throw new Error('must be a postgres:// URL');
  return text;
}

/** As it was written: it is the issuer of the auth tokens, which others compare byte for byte. */
function parsePublicUrl(text: string): string {
  const { search, username, password } = parseWebUrl(text);
  if (search || username || password) throw new Error('must have neither query nor user information');
  return text;
}

function parseAuthPageUrl(text: string): string {
  return parseWebUrl(text).href;
}

function parseWebUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || text.includes('#')) {
    throw new Error('must be an absolute http or https URL without fragment');
  }
  return url;
}

function parseProxyList(text: string): BlockList {
  return parseTrustedProxies(text.split(',').map((entry) => entry.trim()));
}

function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  };
}

function oneOf(values: readonly string[]): (text: string) => string {
  return (text) => {
    if (!values.includes(text)) throw new Error(`must be one of ${values.join(', ')}`);
    return text;
  };
}

function isKeyPair(pair: { cert: string; key: string }): boolean {
  try {
    createSecureContext(pair);
    return true;
  } catch {
    return false;
  }
}
