import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type Config, ConfigError, readConfig } from '../../src/config/config.ts';
import { createCertificate } from '../support/certificate.ts';

const ADMIN_KEY = 'an-admin-key-of-32-characters-ok';
const jwk = { ...generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }), kid: 'key' };
const encryptionKey = Buffer.alloc(32, 7);
const certificate = await createCertificate();

const files: Record<string, string> = {
  'keys.json': JSON.stringify({ keys: [jwk] }),
  'not.json': '{',
  'encryption-key': encryptionKey.toString('base64'),
  'short-key': Buffer.alloc(31).toString('base64'),
  'cert.pem': certificate.cert,
  'key.pem': certificate.key,
  'other-key.pem': (await createCertificate()).key,
  'empty.pem': '',
};

const complete = {
  DATABASE_URL: 'postgres://usher:secret@db.test/usher',
  ADMIN_KEY,
  AUTH_SIGNING_KEYS_FILE: 'keys.json',
  ENCRYPTION_KEY_FILE: 'encryption-key',
};

describe('without any setting', () => {
  test.each([{}, { PORT: '', PUBLIC_URL: '', DATABASE_URL: '', ADMIN_KEY: '', LOG_LEVEL: '', TLS_CERT_FILE: '' }])(
    'the documented defaults hold: %o',
    (env) => {
      const { trustedProxies, ...config } = read(env);
      expect(config).toEqual({
        host: '127.0.0.1',
        port: 8080,
        publicUrl: undefined,
        authPageUrl: undefined,
        authIssuer: undefined,
        loginMethods: ['wallet', 'email'],
        smtp: undefined,
        databaseUrl: undefined,
        dataDir: '.data',
        secrets: {},
        databaseConnections: 4,
        workers: 1,
        logLevel: 'info',
        requestTimeoutMs: 5_000,
        shutdownTimeoutMs: 10_000,
        tls: undefined,
      });
      expect(trustedProxies.rules).toEqual([]);
    },
  );
});

describe('a setting is taken', () => {
  test.each<[Record<string, string>, Partial<Config>]>([
    [{ HOST: '0.0.0.0' }, { host: '0.0.0.0' }],
    [{ HOST: '::' }, { host: '::' }],
    [{ PORT: '0' }, { port: 0 }],
    [{ PORT: '65535' }, { port: 65_535 }],
    [{ PUBLIC_URL: 'https://usher.test' }, { publicUrl: 'https://usher.test' }],
    [{ PUBLIC_URL: 'http://localhost:8080/base/' }, { publicUrl: 'http://localhost:8080/base/' }],
    [{ PUBLIC_URL: 'https://Usher.test:443' }, { publicUrl: 'https://Usher.test:443' }],
    [{ AUTH_PAGE_URL: 'https://login.test' }, { authPageUrl: 'https://login.test/' }],
    [{ AUTH_PAGE_URL: 'https://login.test/start?a=1' }, { authPageUrl: 'https://login.test/start?a=1' }],
    [{ DATA_DIR: '/var/lib/usher' }, { dataDir: '/var/lib/usher' }],
    [{ ADMIN_KEY }, { secrets: { adminKey: ADMIN_KEY } }],
    [{ AUTH_SIGNING_KEYS_FILE: 'keys.json' }, { secrets: { authSigningKeys: [{ ...jwk, alg: 'EdDSA' }] } }],
    [{ ENCRYPTION_KEY_FILE: 'encryption-key' }, { secrets: { encryptionKeys: [encryptionKey] } }],
    [
      complete,
      {
        databaseUrl: complete.DATABASE_URL,
        secrets: { adminKey: ADMIN_KEY, authSigningKeys: [{ ...jwk, alg: 'EdDSA' }], encryptionKeys: [encryptionKey] },
      },
    ],
    [{ ...complete, DATABASE_URL: 'postgresql://db.test' }, { databaseUrl: 'postgresql://db.test' }],
    [
      { ...complete, LOG_LEVEL: 'info' },
      { loginMethods: ['wallet'], smtp: undefined },
    ],
    [{ LOGIN_METHODS: 'email' }, { loginMethods: ['email'] }],
    [{ LOGIN_METHODS: ' wallet , email ' }, { loginMethods: ['wallet', 'email'] }],
    [{ ...complete, LOGIN_METHODS: 'email', AUTH_PAGE_URL: 'https://login.test' }, { loginMethods: ['email'] }],
    [
      { ...complete, SMTP_URL: 'smtps://user:secret@mail.test', MAIL_FROM: 'usher@usher.test' },
      {
        loginMethods: ['wallet', 'email'],
        smtp: { url: 'smtps://user:secret@mail.test', from: 'usher@usher.test' },
      },
    ],
    [
      { AUTH_ISSUER: 'https://issuer.test', AUTH_JWKS_URL: 'https://issuer.test/jwks.json' },
      { authIssuer: { issuer: 'https://issuer.test', jwksUrl: 'https://issuer.test/jwks.json' } },
    ],
    [{ WORKERS: '1' }, { workers: 1 }],
    [{ ...complete, WORKERS: '64' }, { workers: 64 }],
    [
      { WORKERS: '16', DATABASE_CONNECTIONS: '8' },
      { workers: 16, databaseConnections: 8 },
    ],
    [{ DATABASE_CONNECTIONS: '1' }, { databaseConnections: 1 }],
    [{ DATABASE_CONNECTIONS: '64' }, { databaseConnections: 64 }],
    ...['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map(
      (logLevel): [Record<string, string>, Partial<Config>] => [{ LOG_LEVEL: logLevel }, { logLevel }],
    ),
    [{ REQUEST_TIMEOUT_MS: '1' }, { requestTimeoutMs: 1 }],
    [{ REQUEST_TIMEOUT_MS: '600000' }, { requestTimeoutMs: 600_000 }],
    [{ SHUTDOWN_TIMEOUT_MS: '1' }, { shutdownTimeoutMs: 1 }],
    [{ SHUTDOWN_TIMEOUT_MS: '600000' }, { shutdownTimeoutMs: 600_000 }],
    [{ TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'key.pem' }, { tls: { cert: certificate.cert, key: certificate.key } }],
  ])('from %o', (env, expected) => {
    expect(read(env)).toMatchObject(expected);
  });

  test.each([
    ['10.0.0.1', ['10.0.0.1'], ['10.0.0.2', '::1']],
    ['10.0.0.0/8, fd00::/8', ['10.255.255.255', 'fd00::1'], ['11.0.0.0', 'fe00::1']],
    ['::1', ['::1'], ['::2', '127.0.0.1']],
    ['0.0.0.0/0', ['203.0.113.9'], ['::1']],
    [' 192.0.2.1 ,198.51.100.0/31', ['192.0.2.1', '198.51.100.1'], ['198.51.100.2']],
  ])('of trusted proxies from %s', (text, trusted, others) => {
    const { trustedProxies } = read({ TRUSTED_PROXIES: text });
    const isTrusted = (address: string) => trustedProxies.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
    expect(trusted.map(isTrusted)).toEqual(trusted.map(() => true));
    expect(others.map(isTrusted)).toEqual(others.map(() => false));
  });

  test('and one that nobody knows is left alone', () => {
    expect(read({ PATH: '/bin', NO_SUCH_SETTING: '1' }).port).toBe(8080);
  });
});

const WEB_URL = 'must be an absolute http or https URL without fragment';

describe('a setting is refused', () => {
  test.each([
    ...each('PORT', 'must be a whole number from 0 to 65535', [
      '-1',
      '65536',
      '1.5',
      'http',
      ' 80',
      '1e3',
      '0x50',
      '+80',
    ]),
    ...each('PUBLIC_URL', WEB_URL, [
      'usher.test',
      '//usher.test',
      '/base',
      'ftp://usher.test',
      'https://',
      'https://usher.test/#a',
      'https://usher.test/#',
      'https://usher.test:99999',
    ]),
    ...each('PUBLIC_URL', 'must have neither query nor user information', [
      'https://usher.test/?a=1',
      'https://user@usher.test',
      'https://user:password@usher.test',
      'https://:password@usher.test',
    ]),
    ...each('AUTH_PAGE_URL', WEB_URL, ['login', '/login', 'javascript:alert(1)', 'https://login.test/#a']),
    ...each('ADMIN_KEY', 'must have at least 32 characters', ['x', ADMIN_KEY.slice(1)]),
    ...each('AUTH_SIGNING_KEYS_FILE', 'must hold a JWK Set with at least one key', ['not.json', 'encryption-key']),
    ...each('AUTH_SIGNING_KEYS_FILE', 'names a file that cannot be read', ['no-such-file']),
    ...each('ENCRYPTION_KEY_FILE', 'must hold 32 bytes in base64 on each line', [
      'short-key',
      'empty.pem',
      'keys.json',
    ]),
    ...each('ENCRYPTION_KEY_FILE', 'names a file that cannot be read', ['no-such-file']),
    ...each('TRUSTED_PROXIES', 'proxy is neither an IP address nor a CIDR range', ['proxy', '10.0.0.1,proxy']),
    ...[
      '10.0.0',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/a',
      '10.0.0.0/-1',
      '::/129',
      'fd00::/8/8',
      '10.0.0.0/8.5',
    ].flatMap((text) => each('TRUSTED_PROXIES', `${text} is neither an IP address nor a CIDR range`, [text])),
    ...each('TRUSTED_PROXIES', ' is neither an IP address nor a CIDR range', ['10.0.0.1,', ',', '10.0.0.1,,10.0.0.2']),
    ...each('DATABASE_CONNECTIONS', 'must be a whole number from 1 to 64', ['0', '65', '-1', '2.5', 'many']),
    ...each('WORKERS', 'must be a whole number from 1 to 64', ['0', '65', '-1', '1.5', 'many', 'auto']),
    ...each('WORKERS', 'times DATABASE_CONNECTIONS must be at most 128 without DATABASE_URL', ['33', '64']),
    ...each('PUBLIC_URL', 'must have its scheme in lower case', ['HTTPS://usher.test', 'Http://usher.test']),
    ...each('LOGIN_METHODS', 'must be wallet, email or both, comma-separated', ['sms', 'Wallet', 'wallet;email', ',']),
    ...each('AUTH_JWKS_URL', `${WEB_URL}; AUTH_ISSUER and AUTH_JWKS_URL must be set together`, ['x', 'file:///jwks']),
    ...each('LOG_LEVEL', 'must be one of trace, debug, info, warn, error, fatal, silent', ['INFO', 'verbose', 'info ']),
    ...['REQUEST_TIMEOUT_MS', 'SHUTDOWN_TIMEOUT_MS'].flatMap((name) =>
      each(name, 'must be a whole number from 1 to 600000', ['0', '600001', '-1', '1.5', '5s', 'never']),
    ),
  ])('%s=%s', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toBe(`Invalid settings: ${name} ${problem}`);
  });

  test.each([
    'mysql://db.test',
    'db.test:5432',
    'db.test',
    'postgres:db.test',
    'postgres://db.test:99999/usher',
    'https://db.test',
  ])('DATABASE_URL=%s', (value) => {
    expect(problemsOf({ ...complete, DATABASE_URL: value })).toBe(
      'Invalid settings: DATABASE_URL must be a postgres:// URL',
    );
  });

  test.each([
    [{ TLS_CERT_FILE: 'cert.pem' }, 'TLS_CERT_FILE and TLS_KEY_FILE must be set together'],
    [{ TLS_KEY_FILE: 'key.pem' }, 'TLS_CERT_FILE and TLS_KEY_FILE must be set together'],
    [
      { TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'other-key.pem' },
      'TLS_CERT_FILE and TLS_KEY_FILE must hold a certificate and its key in PEM',
    ],
    [
      { TLS_CERT_FILE: 'key.pem', TLS_KEY_FILE: 'cert.pem' },
      'TLS_CERT_FILE and TLS_KEY_FILE must hold a certificate and its key in PEM',
    ],
    [
      { TLS_CERT_FILE: 'empty.pem', TLS_KEY_FILE: 'key.pem' },
      'TLS_CERT_FILE and TLS_KEY_FILE must hold a certificate and its key in PEM',
    ],
    [
      { TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'empty.pem' },
      'TLS_CERT_FILE and TLS_KEY_FILE must hold a certificate and its key in PEM',
    ],
    [{ TLS_CERT_FILE: 'no-such-file', TLS_KEY_FILE: 'key.pem' }, 'TLS_CERT_FILE names a file that cannot be read'],
    [
      { TLS_CERT_FILE: 'no-such-file', TLS_KEY_FILE: 'no-such-key' },
      'TLS_CERT_FILE names a file that cannot be read; TLS_KEY_FILE names a file that cannot be read',
    ],
  ])('in a pair: %o', (env, problems) => {
    expect(problemsOf(env)).toBe(`Invalid settings: ${problems}`);
  });

  test('a key that cannot be read is told of', () => {
    expect(problemsOf({ TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'no-such-key' })).toContain(
      'TLS_KEY_FILE names a file that cannot be read',
    );
  });
});

test.each([
  'http://mail.test',
  'smtp://',
  'smtps://usher:secret@%SMTP_HOST%',
  'smtp://mail server.test',
  'smtp://a%20b',
  'smtp://mail.test:99999',
])('a mail server has an SMTP URL, which %s is not', (url) => {
  const problem = 'Invalid settings: SMTP_URL must be an smtp:// or smtps:// URL';
  expect(problemsOf({ SMTP_URL: url, MAIL_FROM: 'a@b.test' })).toBe(problem);
});

describe('settings that belong together are refused', () => {
  test.each([
    [{ SMTP_URL: 'smtp://mail.test' }, 'MAIL_FROM is required with SMTP_URL'],
    [
      { ...complete, LOGIN_METHODS: 'wallet,email' },
      'SMTP_URL is required with DATABASE_URL for LOGIN_METHODS with email',
    ],
    [{ AUTH_ISSUER: 'https://issuer.test' }, 'AUTH_ISSUER and AUTH_JWKS_URL must be set together'],
    [{ AUTH_JWKS_URL: 'https://issuer.test/jwks' }, 'AUTH_ISSUER and AUTH_JWKS_URL must be set together'],
    [
      { PUBLIC_URL: 'https://a.test', AUTH_ISSUER: 'https://a.test', AUTH_JWKS_URL: 'https://a.test/jwks' },
      'AUTH_ISSUER must not be PUBLIC_URL',
    ],
  ])('%o', (env, problems) => {
    expect(problemsOf(env)).toBe(`Invalid settings: ${problems}`);
  });
});

describe('with a database of its own', () => {
  const secrets = ['ADMIN_KEY', 'AUTH_SIGNING_KEYS_FILE', 'ENCRYPTION_KEY_FILE'];

  test.each(secrets)('%s is required', (name) => {
    expect(problemsOf({ ...complete, [name]: undefined })).toBe(
      `Invalid settings: ${name} is required with DATABASE_URL`,
    );
  });

  test('all that is missing is told at once', () => {
    expect(problemsOf({ DATABASE_URL: complete.DATABASE_URL })).toBe(
      `Invalid settings: ${secrets.map((name) => `${name} is required with DATABASE_URL`).join('; ')}`,
    );
  });
});

test('all problems are told at once', () => {
  const invalid = {
    PORT: 'x',
    PUBLIC_URL: 'x',
    AUTH_PAGE_URL: 'x',
    DATABASE_URL: 'x',
    ADMIN_KEY: 'x',
    AUTH_SIGNING_KEYS_FILE: 'no-such-file',
    ENCRYPTION_KEY_FILE: 'short-key',
    TRUSTED_PROXIES: 'x',
    DATABASE_CONNECTIONS: 'x',
    LOG_LEVEL: 'x',
    REQUEST_TIMEOUT_MS: 'x',
    SHUTDOWN_TIMEOUT_MS: 'x',
    TLS_CERT_FILE: 'cert.pem',
  };
  const problems = problemsOf(invalid).slice('Invalid settings: '.length).split('; ');
  expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual(Object.keys(invalid).sort());
});

test('no problem shows a secret', () => {
  const password = 'a-password-in-a-url';
  const problems = problemsOf({
    DATABASE_URL: `mysql://usher:${password}@db.test`,
    ADMIN_KEY: 'a-short-admin-key',
    ENCRYPTION_KEY_FILE: 'short-key',
    AUTH_SIGNING_KEYS_FILE: 'keys.json',
  });
  for (const secret of [password, 'a-short-admin-key', files['short-key'], jwk.d]) {
    expect(problems).not.toContain(secret);
  }
});

function read(env: Record<string, string | undefined>): Config {
  return readConfig(env, (path) => {
    const text = files[path];
    if (text === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
    return text;
  });
}

function problemsOf(env: Record<string, string | undefined>): string {
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
