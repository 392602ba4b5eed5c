import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type Config, ConfigError } from '../../src/config/config.ts';
import { METHODS_RULE } from '../../src/config/login-methods.ts';
import { createBlockList } from '../../src/domain/webhooks/address-policy.ts';
import { type FullConfig, readFullConfig } from '../../src/modules/modules.ts';
import { createCertificate } from '../support/certificate.ts';

type Environment = Record<string, string | undefined>;

const ADMIN_KEY = 'an-admin-key-of-32-characters-ok';
const jwk = { ...generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }), kid: 'key' };
const rsa = { ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), kid: 'rsa' };
const encryptionKey = Buffer.alloc(32, 7);
const certificate = await createCertificate();

const files: Record<string, string> = {
  'keys.json': JSON.stringify({ keys: [jwk] }),
  'rsa.json': JSON.stringify({ keys: [rsa] }),
  'not.json': '{',
  'encryption-key': encryptionKey.toString('base64'),
  'short-key': Buffer.alloc(31).toString('base64'),
  'cert.pem': certificate.cert,
  'key.pem': certificate.key,
  'other-key.pem': (await createCertificate()).key,
  'empty.pem': '',
  'applications.json': '{}',
  'providers.json': '[]',
  'admin-keys': `deploy:${ADMIN_KEY}\n`,
};

const production = {
  DATABASE_URL: 'postgres://usher:secret@db.test/usher',
  ADMIN_KEY,
  AUTH_SIGNING_KEYS_FILE: 'keys.json',
  ENCRYPTION_KEY_FILE: 'encryption-key',
};

test.each<[string, Environment]>([
  ['no setting is set', {}],
  [
    'settings are empty',
    { PORT: '', PUBLIC_URL: '', DATABASE_URL: '', ADMIN_KEY: '', LOG_LEVEL: '', OPERATORS_FILE: '', TLS_KEY_FILE: '' },
  ],
  ['only unknown variables are set', { PATH: '/bin', NO_SUCH_SETTING: '1' }],
])('the defaults hold when %s', (_, env) => {
  expect(read(env)).toEqual({
    keyFiles: {},
    host: '127.0.0.1',
    port: 8080,
    loginMethods: ['email', 'passkey', 'wallet'],
    loginProviders: [],
    loginProviderIds: undefined,
    loginProvidersFile: undefined,
    blockedEmailDomains: [],
    blockedEmailDomainsFile: undefined,
    dataDir: '.data',
    secrets: {},
    adminKeys: [],
    corsOrigins: [],
    trustedProxies: [],
    databaseConnections: 4,
    ethereumChainId: 1,
    databaseSchema: 'usher',
    migrateOnStart: true,
    metricsPort: undefined,
    metricsHost: '127.0.0.1',
    consoleHost: '127.0.0.1',
    logLevel: 'info',
    sessionMaxAgeSeconds: 43_200,
    singleSignOnMaxAgeSeconds: 43_200,
    allowAccountDeletion: true,
    webhookDelivery: true,
    webhookConcurrency: 128,
    webhookTimeoutMs: 15_000,
    webhookRetrySchedule: [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400],
    auditLogDays: 400,
    signInLogDays: 90,
    webhookLogDays: 14,
    webhooksPerApplication: 1_000,
    requestTimeoutMs: 5_000,
    keepAliveTimeoutMs: 75_000,
    shutdownDelayMs: 0,
    shutdownTimeoutMs: 10_000,
  });
});

test.each<[Environment, Partial<FullConfig>]>([
  [{ HOST: '::' }, { host: '::' }],
  [{ PORT: '0' }, { port: 0 }],
  [
    { CORS_ORIGINS: 'https://a.test, http://localhost:3000' },
    { corsOrigins: ['https://a.test', 'http://localhost:3000'] },
  ],
  [{ PORT: '65535' }, { port: 65_535 }],
  [{ PUBLIC_URL: 'http://localhost:8080/base/' }, { publicUrl: 'http://localhost:8080/base/' }],
  [{ PUBLIC_URL: 'https://Usher.test:443' }, { publicUrl: 'https://Usher.test:443' }],
  [{ AUTH_PAGE_URL: 'https://login.test' }, { authPageUrl: 'https://login.test/' }],
  [{ AUTH_PAGE_URL: 'https://login.test/start?a=1' }, { authPageUrl: 'https://login.test/start?a=1' }],
  [{ SESSION_MAX_AGE: '15m' }, { sessionMaxAgeSeconds: 900 }],
  [{ SESSION_MAX_AGE: '3600' }, { sessionMaxAgeSeconds: 3_600 }],
  [{ SESSION_MAX_AGE: '30d' }, { sessionMaxAgeSeconds: 2_592_000 }],
  [{ SINGLE_SIGN_ON_MAX_AGE: '0' }, { singleSignOnMaxAgeSeconds: 0 }],
  [{ SINGLE_SIGN_ON_MAX_AGE: '8h' }, { singleSignOnMaxAgeSeconds: 28_800 }],
  [{ DATA_DIR: '/var/lib/usher' }, { dataDir: '/var/lib/usher' }],
  [{ ADMIN_KEY }, { secrets: { adminKey: ADMIN_KEY } }],
  [{ AUTH_SIGNING_KEYS_FILE: 'keys.json' }, { secrets: { authSigningKeys: [{ ...jwk, alg: 'EdDSA' }] } }],
  [{ APPLICATIONS_FILE: 'applications.json' }, { applicationsFile: '{}', applicationsPath: 'applications.json' }],
  [{ LOGIN_PROVIDERS_FILE: 'providers.json' }, { loginProviders: [], loginProvidersFile: 'providers.json' }],
  [{ OIDC_SIGNING_KEYS_FILE: 'rsa.json' }, { secrets: { oidcSigningKeys: [{ ...rsa, alg: 'RS256' }] } }],
  [{ ENCRYPTION_KEY_FILE: 'encryption-key' }, { secrets: { encryptionKeys: [encryptionKey] } }],
  [production, { databaseUrl: production.DATABASE_URL, loginMethods: ['passkey', 'wallet'], smtp: undefined }],
  [production, { secrets: expect.objectContaining({ oidcSigningKeys: [] }) }],
  [{ ...production, DATABASE_URL: 'postgresql://db.test' }, { databaseUrl: 'postgresql://db.test' }],
  [{ LOGIN_METHODS: ' wallet , email ' }, { loginMethods: ['wallet', 'email'] }],
  [{ ...production, LOGIN_METHODS: 'email', AUTH_PAGE_URL: 'https://login.test' }, { loginMethods: ['email'] }],
  [
    { ...production, SMTP_URL: 'smtps://user:secret@mail.test', MAIL_FROM: 'usher@usher.test' },
    {
      loginMethods: ['email', 'passkey', 'wallet'],
      smtp: { url: 'smtps://user:secret@mail.test', from: 'usher@usher.test' },
    },
  ],
  [{ PUBLIC_URL: 'http://192.0.2.1:8080' }, { loginMethods: ['email', 'wallet'] }],
  [{ ...production, PUBLIC_URL: 'http://usher.internal' }, { loginMethods: ['wallet'] }],
  [
    { PUBLIC_URL: 'https://login.example.com', LOGIN_METHODS: 'wallet,passkey', PASSKEY_RP_ID: 'example.com' },
    { loginMethods: ['wallet', 'passkey'], passkeyRpId: 'example.com' },
  ],
  [
    { PUBLIC_URL: 'http://localhost:8080', LOGIN_METHODS: 'wallet,passkey', PASSKEY_RP_ID: 'localhost' },
    { passkeyRpId: 'localhost' },
  ],
  [
    { PUBLIC_URL: 'http://usher.localhost:8080', LOGIN_METHODS: 'wallet,passkey' },
    { loginMethods: ['wallet', 'passkey'] },
  ],
  [{ DATABASE_CONNECTIONS: '64' }, { databaseConnections: 64 }],
  [{ AUDIT_LOG_DAYS: '30' }, { auditLogDays: 30, signInLogDays: 30 }],
  [{ AUDIT_LOG_DAYS: '30', SIGN_IN_LOG_DAYS: '30' }, { signInLogDays: 30 }],
  [{ WEBHOOK_LOG_DAYS: '1' }, { webhookLogDays: 1 }],
  [
    { HOST: 'usher.internal', METRICS_PORT: '1', METRICS_HOST: '::1' },
    { host: 'usher.internal', metricsHost: '::1' },
  ],
  [{ LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
  [{ REQUEST_TIMEOUT_MS: '100' }, { requestTimeoutMs: 100 }],
  [{ SHUTDOWN_TIMEOUT_MS: '600000' }, { shutdownTimeoutMs: 600_000 }],
  [{ TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'key.pem' }, { tls: { cert: certificate.cert, key: certificate.key } }],
])('accepts %o', (env, expected) => {
  expect(read(env)).toMatchObject(expected);
});

test.each([
  ['10.0.0.1', ['10.0.0.1'], ['10.0.0.2', '::1']],
  ['10.0.0.0/8, fd00::/8', ['10.255.255.255', 'fd00::1'], ['11.0.0.0', 'fe00::1']],
  ['0.0.0.0/0', ['203.0.113.9'], ['::1']],
  [' 192.0.2.1 ,198.51.100.0/31', ['192.0.2.1', '198.51.100.1'], ['198.51.100.2']],
])('TRUSTED_PROXIES=%s trusts %j and not %j', (text, trusted, others) => {
  const trustedProxies = createBlockList(read({ TRUSTED_PROXIES: text }).trustedProxies);
  const isTrusted = (address: string) => trustedProxies.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
  expect(trusted.filter((address) => !isTrusted(address))).toEqual([]);
  expect(others.filter(isTrusted)).toEqual([]);
});

const WEB_URL = 'must be an absolute http or https URL without fragment';
const KEY_PAIR = 'TLS_CERT_FILE and TLS_KEY_FILE must hold a certificate and its key in PEM';

describe('refuses', () => {
  test.each([
    ...each('METRICS_PORT', 'must be a whole number from 0 to 65535', ['metrics', '65536']),
    ...each('PORT', 'must be a whole number from 0 to 65535', ['-1', '65536', '1.5', ' 80', '1e3', '0x50', '+80']),
    ...each('PUBLIC_URL', WEB_URL, ['usher.test', '/base', 'ftp://usher.test', 'https://', 'https://usher.test/#']),
    ...each('PUBLIC_URL', 'must have neither query nor user information', [
      'https://usher.test/?a=1',
      'https://user@usher.test',
      'https://:password@usher.test',
    ]),
    ...each('PUBLIC_URL', 'must have its scheme in lower case', ['HTTPS://usher.test']),
    ...each('AUTH_PAGE_URL', WEB_URL, ['login', 'javascript:alert(1)', 'https://login.test/#a']),
    ...each('ETHEREUM_CHAIN_ID', 'must be a whole number from 1 to 9007199254740991', ['0', '0x1', 'mainnet']),
    ...each('ADMIN_KEY', 'must have at least 32 characters', [ADMIN_KEY.slice(1)]),
    ...each('AUTH_SIGNING_KEYS_FILE', 'must hold a JWK Set with at least one key', ['not.json']),
    ...each('OIDC_SIGNING_KEYS_FILE', 'must hold RSA keys (RS256) of 2048 bits or more', ['keys.json']),
    ...each('OIDC_SIGNING_KEYS_FILE', 'names a file that cannot be read (ENOENT)', ['no-such-file']),
    ...each('AUTH_SIGNING_KEYS_FILE', 'names a file that cannot be read (ENOENT)', ['no-such-file']),
    ...each('ENCRYPTION_KEY_FILE', 'must hold 32 bytes in base64 on each line', ['short-key', 'empty.pem']),
    ...['proxy', '10.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '::/129', 'fd00::/8/8'].flatMap((text) =>
      each('TRUSTED_PROXIES', `${text} is neither an IP address nor a CIDR range`, [text]),
    ),
    ...each('CORS_ORIGINS', 'must be origins such as https://tools.example.com, comma-separated', [
      ...[
        '*',
        'null',
        'a.test',
        'https://a.test/',
        'https://A.test',
        'https://a.test:443',
        'https://a.test,',
        'ftp://a.test',
      ],
    ]),
    ...each('TRUSTED_PROXIES', ' is neither an IP address nor a CIDR range', ['10.0.0.1,', '10.0.0.1,,10.0.0.2']),
    ...each('DATABASE_CONNECTIONS', 'must be a whole number from 1 to 64', ['0', '65', 'many']),
    ...each('LOGIN_METHODS', METHODS_RULE, ['sms', 'Wallet', 'wallet;email', ',']),
    ...each('LOGIN_METHODS', 'must have another method besides passkey', ['passkey']),
    ...each('PASSKEY_RP_ID', 'must be the name of a host in lower case, such as example.com', [
      'Example.com',
      'https://example.com',
      '10.0.0.1',
      'a..b',
      'example.com:443',
    ]),
    ...each('MIGRATE_ON_START', 'must be one of true, false', ['no', '0', 'FALSE']),
    ...each('LOG_LEVEL', 'must be one of trace, debug, info, warn, error, fatal, silent', ['INFO', 'verbose']),
    ...each('REQUEST_TIMEOUT_MS', 'must be a whole number from 100 to 600000', ['1', '99', '600001', '5s']),
    ...each('SHUTDOWN_TIMEOUT_MS', 'must be a whole number from 1 to 600000', ['0', '600001', 'never']),
  ])('%s=%s', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toBe(`Invalid settings: ${name} ${problem}`);
  });

  test.each([
    ...['mysql://db.test', 'db.test:5432', 'postgres:db.test', 'postgres://db.test:99999/usher', 'postgres://db test'],
    ...['postgres://db.test:0', 'postgres://%zz/usher', 'postgres://db.test/usher#a', 'postgres://[::1/usher'],
  ])('DATABASE_URL=%s', (url) => {
    const problem = 'Invalid settings: DATABASE_URL must be a postgres:// URL';
    expect(problemsOf({ ...production, DATABASE_URL: url })).toBe(problem);
  });

  test.each([
    ['application_name=a', 'must not have the parameter application_name'],
    [
      'statement_timeout=0&sslmode=require&lock_timeout=0',
      'must not have the parameter statement_timeout or lock_timeout',
    ],
    ['options=-csearch_path%3Dother', 'must not have the parameter options'],
    ['max=1', 'must not have the parameter max'],
    ['sslmode=never', 'has a parameter sslmode with a value that Usher does not support'],
    ['target_session_attrs=standby', 'has a parameter target_session_attrs with a value that Usher does not support'],
  ])('DATABASE_URL with ?%s', (query, problem) => {
    const url = `postgres://usher:secret@db.test/usher?${query}`;
    expect(problemsOf({ ...production, DATABASE_URL: url })).toBe(`Invalid settings: DATABASE_URL ${problem}`);
  });

  test.each(['http://mail.test', 'smtp://', 'smtp://mail server.test', 'smtp://a%20b', 'smtp://mail.test:99999'])(
    'SMTP_URL=%s',
    (url) => {
      const problem = 'Invalid settings: SMTP_URL must be an smtp:// or smtps:// URL';
      expect(problemsOf({ SMTP_URL: url, MAIL_FROM: 'a@b.test' })).toBe(problem);
    },
  );

  test.each<[Environment, string]>([
    [{ TLS_CERT_FILE: 'cert.pem' }, 'TLS_KEY_FILE is required with TLS_CERT_FILE'],
    [{ TLS_KEY_FILE: 'key.pem' }, 'TLS_CERT_FILE is required with TLS_KEY_FILE'],
    [{ TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'other-key.pem' }, KEY_PAIR],
    [{ TLS_CERT_FILE: 'key.pem', TLS_KEY_FILE: 'cert.pem' }, KEY_PAIR],
    [{ TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'empty.pem' }, KEY_PAIR],
    [{ TLS_CERT_FILE: 'no-such', TLS_KEY_FILE: 'key.pem' }, 'TLS_CERT_FILE names a file that cannot be read (ENOENT)'],
    [{ SMTP_URL: 'smtp://mail.test' }, 'MAIL_FROM is required with SMTP_URL'],
    // A misspelt SMTP_URL.
    [{ MAIL_FROM: 'a@b.test' }, 'SMTP_URL is required with MAIL_FROM'],
    [{ METRICS_HOST: '0.0.0.0' }, 'METRICS_PORT is required with METRICS_HOST'],
    [
      { ...production, LOGIN_METHODS: 'wallet,email' },
      'SMTP_URL is required with DATABASE_URL for LOGIN_METHODS with email',
    ],
    ...['http://login.example.com', 'https://192.0.2.1', 'https://[2001:db8::1]'].map((url): [Environment, string] => [
      { PUBLIC_URL: url, LOGIN_METHODS: 'wallet,passkey' },
      'PUBLIC_URL must be https with a host name, or be on localhost, for LOGIN_METHODS with passkey',
    ]),
    ...['ample.com', 'other.test', 'a.login.example.com'].map((host): [Environment, string] => [
      { PUBLIC_URL: 'https://login.example.com', PASSKEY_RP_ID: host },
      'PASSKEY_RP_ID must be the host of PUBLIC_URL or a parent of it',
    ]),
    [{ ...production, CONSOLE_PORT: '8081' }, 'OPERATORS_FILE is required with CONSOLE_PORT and DATABASE_URL'],
    [{ ADMIN_KEY, ADMIN_KEYS_FILE: 'admin-keys' }, 'ADMIN_KEYS_FILE must not hold the key of ADMIN_KEY'],
    ...['ADMIN_KEY', 'AUTH_SIGNING_KEYS_FILE', 'ENCRYPTION_KEY_FILE'].map((name): [Environment, string] => [
      { ...production, [name]: undefined },
      `${name} is required with DATABASE_URL`,
    ]),
  ])('%o', (env, problem) => {
    expect(problemsOf(env)).toBe(`Invalid settings: ${problem}`);
  });
});

test('the error names every setting that is wrong', () => {
  const invalid = {
    PORT: 'x',
    PUBLIC_URL: 'x',
    DATABASE_URL: 'x',
    ADMIN_KEY: 'x',
    AUTH_SIGNING_KEYS_FILE: 'no-such-file',
    ENCRYPTION_KEY_FILE: 'short-key',
    TRUSTED_PROXIES: 'x',
    LOG_LEVEL: 'x',
    TLS_CERT_FILE: 'no-such-file',
  };
  const problems = problemsOf(invalid).slice('Invalid settings: '.length).split('; ');
  const names = problems.map((problem) => problem.split(' ')[0]);
  expect(names.sort()).toEqual([...Object.keys(invalid), 'TLS_KEY_FILE'].sort());
});

test('the error shows no secret', () => {
  const problems = problemsOf({
    DATABASE_URL: 'mysql://usher:a-password-in-a-url@db.test',
    ADMIN_KEY: 'a-short-admin-key',
    ENCRYPTION_KEY_FILE: 'a-key-instead-of-its-file',
    AUTH_SIGNING_KEYS_FILE: 'keys.json',
  });
  for (const secret of ['a-password-in-a-url', 'a-short-admin-key', 'a-key-instead-of-its-file', jwk.d]) {
    expect(problems).not.toContain(secret);
  }
});

function read(env: Environment): Config {
  return readFullConfig(env, (path) => {
    const text = files[path];
    if (text !== undefined) return text;
    throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' });
  });
}

function problemsOf(env: Environment): string {
  try {
    read(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'none';
}

function each(name: string, problem: string, values: readonly string[]): [string, string, string][] {
  return values.map((value) => [name, value, problem]);
}
