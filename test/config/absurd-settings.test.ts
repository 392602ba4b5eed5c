/** Settings that cannot be meant: each stops the start by its name, in one line. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ConfigError } from '../../src/config/config.ts';
import { readSettingFile } from '../../src/config/files.ts';
import { ALL_SETTINGS, readFullConfig } from '../../src/modules/modules.ts';
import { createCertificate } from '../support/certificate.ts';
import { createDirectory } from '../support/directory.ts';

type Environment = Readonly<Record<string, string>>;

const directory = await createDirectory();
const KEY = 'an-admin-key-of-32-characters-ok';
const { cert, key } = await createCertificate();
const AES = Buffer.alloc(32, 7).toString('base64');

let files = 0;
/** Returns the path of a file with the text. */
async function fileOf(text: string): Promise<string> {
  const path = join(directory, String(files++));
  await writeFile(path, text);
  return path;
}

/** Returns the problems, or an empty text. */
function problemsOf(env: Environment): string {
  try {
    readFullConfig(env, readSettingFile);
    return '';
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message;
  }
}

const settings = Object.values(ALL_SETTINGS);
const texts = settings.filter(({ isFile }) => !isFile).map(({ name }) => name);
const paths = settings.filter(({ isFile }) => isFile).map(({ name }) => name);

const SPACES = ['  ', '\t', '\n', '\r\n '];
const LINES = ['x\r\nBcc: eve@example.com', 'https://a.test\n', '1\n', 'true\n', 'https://a.test/\u2028', '\u0000'];
const NUMBERS = ['-1', '1e99', '9'.repeat(400), 'NaN', '1,5', '٣'];
const LISTS = [',', ', ,', ',,,'];

const PORTS = ['-1', '65536', '0x50', '80 ', 'http', '80,81'];
const WEB_URLS = [
  ...['a.test', '//a.test', 'https://', 'https://a..b', 'https://a.test,https://b.test', 'https://a.test:0'],
  ...[
    'https://a.test:99999',
    'https://1.2.3.4.5',
    'https://a.test/#x',
    ' https://a.test',
    'https://a.test\t',
    'file:///x',
  ],
  ...['https://a.test\\x', 'https://[::1', 'javascript:x'],
];
const HOSTS = ['http://a.test', '10.0.0', '256.0.0.1', '[::1]', '127.0.0.1:80', 'a b', 'a..b', '*', 'a.test/', '1'];
const DAYS = ['0', '-1', '1.5', '1d', '36501', 'never'];
const AGES = ['-1', '0d', '14m', '899', '366d', '12', '12 h', '12H', '1w', '1h30m', 'never', '9999999999'];

/** Values of each setting that is no path. Those above are tried with all of them. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  ADMIN_KEY: ['short', `${' '.repeat(40)}`, `${KEY}\nx`, `${KEY}ü`, `${KEY}\u0007`],
  ALLOW_ACCOUNT_DELETION: ['0', 'no', 'False', 'true,false'],
  AUDIT_LOG_DAYS: DAYS,
  AUTH_PAGE_URL: WEB_URLS,
  CLIENT_METADATA_HOSTS: [
    '127.0.0.1',
    '[::1]',
    '*.127.0.0.1',
    'a.test,',
    'a.test,A.test',
    'https://a.test',
    '**',
    '*.',
  ],
  CONSOLE_HOST: HOSTS,
  CONSOLE_PORT: PORTS,
  CONSOLE_URL: ['a.test', 'https://a.test/x', 'https://A.test', 'https://a.test,https://b.test', 'ftp://a.test'],
  CORS_ORIGINS: ['*', 'a.test', 'https://a.test,https://a.test', 'https://a.test/x', 'https://a.test,,', 'null'],
  DATABASE_CONNECTIONS: ['0', '65', '-4', '4.0', '4 '],
  DATABASE_SCHEMA: ['Usher', 'pg_usher', 'a b', 'a.b', 'information_schema', 'a'.repeat(64), '1a', '"a"'],
  DATABASE_URL: [
    ...['db.test', 'mysql://db.test', 'https://db.test', 'postgres://db.test/usher\n', ' postgres://db.test/usher'],
    ...['postgres://db test', 'postgres://db.test:0', 'postgres://db.test/?sslmode=never', 'postgres://a/\r\nb'],
  ],
  DATA_DIR: ['a\nb', ' data', 'data ', 'a\tb'],
  ETHEREUM_CHAIN_ID: ['0', '-1', '0x1', 'mainnet', '9007199254740992'],
  HOST: HOSTS,
  KEEP_ALIVE_TIMEOUT_MS: ['0', '6999', '86400001', '75s'],
  LOGIN_METHODS: ['sms', 'email,email', 'passkey', 'Email', 'email;wallet', 'email,', '127.0.0.1'],
  LOG_LEVEL: ['INFO', 'verbose', '30', 'info,warn'],
  MAIL_FROM: [
    ...['not an address', 'login', '@example.com', 'login@', 'login@exa mple.com', 'login@127.0.0.1', 'login@[::1]'],
    ...['a@example.com\r\nBcc: eve@example.com', 'Usher\r\nBcc: eve@example.com <a@example.com>', 'a@b.test,c@d.test'],
    ...[
      'a@b.test, c@d.test',
      'a@b.test>',
      '<a@b.test',
      'a@b@c.test',
      'Usher <a b@c.test>',
      'a@b..test',
      'a\u200b@b.test',
    ],
  ],
  METRICS_HOST: HOSTS,
  METRICS_PORT: PORTS,
  MIGRATE_ON_START: ['0', 'no', 'FALSE'],
  PASSKEY_RP_ID: ['https://a.test', '127.0.0.1', 'A.test', 'a.test:443', 'a.test,b.test', 'other.test'],
  PORT: PORTS,
  PUBLIC_URL: [...WEB_URLS, 'https://a.test/?x', 'https://u@a.test', 'HTTPS://a.test'],
  REQUEST_TIMEOUT_MS: ['0', '1', '99', '600001', '5s', '-5000'],
  SESSION_MAX_AGE: [...AGES, '0'],
  SHUTDOWN_DELAY_MS: ['-1', '600001', '1s'],
  SHUTDOWN_TIMEOUT_MS: ['0', '-1', '600001', '1s'],
  SIGN_IN_LOG_DAYS: [...DAYS, '401'],
  SINGLE_SIGN_ON_MAX_AGE: AGES,
  SMTP_URL: [
    ...['mail.test', 'http://mail.test', 'smtp://', 'smtp://a b', 'smtp://mail.test:0', 'smtp://mail.test\n'],
    ...['smtp://1.2.3.4.5', 'smtp://mail.test/?name=', 'smtp://mail.test/?name=a%0d%0aRSET', 'smtp://a..b'],
  ],
  TRUSTED_PROXIES: ['proxy.test', '10.0.0.0/33', '10.0.0.1,', '10.0.0.1,10.0.0.1', '::1/129', 'fe80::1%eth0', '*'],
  WEBHOOKS_PER_APPLICATION: ['0', '100001', 'many'],
  WEBHOOK_ALLOWED_NETWORKS: ['localhost', '10.0.0.0/-1', '10.0.0.0/8,10.0.0.0/8', '10.0.0/8', '::1%lo'],
  WEBHOOK_CONCURRENCY: ['0', '4097', '1.5'],
  WEBHOOK_DELIVERY: ['off', '1', 'TRUE'],
  WEBHOOK_LOG_DAYS: ['0', '366', '14d'],
  WEBHOOK_PROXY_URL: [...WEB_URLS, 'http://proxy.test/path', 'http://proxy.test/?a=1', 'http://a%:b@proxy.test'],
  WEBHOOK_RETRY_SCHEDULE: ['0,-5', '0,5s', '0;5', '604801', '0,', `0${',604800'.repeat(3)}`],
  WEBHOOK_TIMEOUT_MS: ['0', '1', '99', '60001', '15s'],
};

/** Contents of the files that are refused. */
const CONTENTS: Readonly<Record<string, readonly string[]>> = {
  ADMIN_KEYS_FILE: [`ada:${KEY}`, '', '\n', `${KEY}\n`, `admin:${KEY}\n`, `ada:${KEY}\neve:${KEY}\n`, `ada:${KEY}ü\n`],
  AUTH_SIGNING_KEYS_FILE: ['', '{}', '[]', 'null', '{"keys":[]}', '{"keys":[{}]}', '{"keys":[null]}', '{"keys":{}}'],
  APPLICATIONS_FILE: [' '.repeat(1_024 * 1_024 + 1)],
  BLOCKED_EMAIL_DOMAINS_FILE: ['example.com', 'a b\n', '*\n', 'ada@example.com\n', 'https://a.test\n', '127.0.0.1\n'],
  ENCRYPTION_KEY_FILE: ['', '\n', 'AAAA', `${AES}${AES}`, `${AES}\n${AES}\n`, `${AES},${AES}`],
  LOGIN_PROVIDERS_FILE: [
    '',
    '{}',
    'null',
    '[null]',
    '[{}]',
    '[[]]',
    '[{"id":"a"}',
    '[{"id":"a","id":"b"}]',
    `[${'{},'.repeat(20)}{}]`,
  ],
  OIDC_SIGNING_KEYS_FILE: ['', '{}', '[]', 'null', '{"keys":[]}', '{"keys":[{}]}'],
  OPERATORS_FILE: [
    'ada@example.com admin',
    '',
    '\n',
    '# nobody\n',
    'ada@example.com\n',
    'ada admin\n',
    'a@b.test root\n',
  ],
  TLS_CERT_FILE: ['', '\n', 'x', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'],
  TLS_KEY_FILE: ['', '\n', 'x', '-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n'],
};

test('the tables have every setting', () => {
  expect(Object.keys(TEXTS).sort()).toEqual([...texts].sort());
  expect(Object.keys(CONTENTS).sort()).toEqual([...paths].sort());
});

/** What the value needs beside it, so that nothing else is wrong. */
const BESIDE: Readonly<Record<string, Environment>> = {
  DATABASE_URL: { ADMIN_KEY: KEY },
  MAIL_FROM: { SMTP_URL: 'smtp://mail.test' },
  METRICS_HOST: { METRICS_PORT: '0' },
  SMTP_URL: { MAIL_FROM: 'login@example.com' },
  TLS_CERT_FILE: { TLS_KEY_FILE: await fileOf(key) },
  TLS_KEY_FILE: { TLS_CERT_FILE: await fileOf(cert) },
};

/** Expects one line that names the setting, and not only as one that is missing beside another. */
function expectRefusal(name: string, value: string, env: Environment): void {
  const message = problemsOf({ ...BESIDE[name], ...env });
  const line = new RegExp(`^Invalid settings: (?:[^;]*(?:;|and) )*${name} (?!is required)[^\\n\\r]+$`);
  expect(message, `${name}=${JSON.stringify(value).slice(0, 100)}`).toMatch(line);
}

/** Returns whether somebody may mean the value: a path may be any text, a name have a digit, and a list white space. */
function isPlausible(name: string, value: string): boolean {
  if (name === 'ADMIN_KEY') return value.length >= KEY.length;
  if (name === 'DATA_DIR') return [...NUMBERS, ...LISTS].includes(value);
  if (/HOSTS?$/.test(name) && ['1e99', 'NaN'].includes(value)) return true;
  if (name === 'WEBHOOK_RETRY_SCHEDULE' && value === '1,5') return true;
  const isList = /_(?:HOSTS|METHODS|NETWORKS|ORIGINS|PROXIES|SCHEDULE)$/.test(name);
  return isList && /^\S+\n$/.test(value);
}

test.each(texts)('%s is refused by its name with a value that cannot be meant', (name) => {
  for (const value of [...SPACES, ...LINES, ...NUMBERS, ...LISTS]) {
    if (!isPlausible(name, value)) expectRefusal(name, value, { [name]: value });
  }
  for (const value of TEXTS[name] ?? []) expectRefusal(name, value, { [name]: value });
});

test.each(paths)('%s is refused by its name if its file cannot be meant', async (name) => {
  await mkdir(join(directory, 'folder'), { recursive: true });
  for (const path of [' ', '\n', ',', directory, join(directory, 'no-such'), '/dev/zero', `${directory}\n`]) {
    const message = problemsOf({ [name]: path });
    expect(message, path).toMatch(new RegExp(`${name} names a file that cannot be read \\(\\w+\\)[^\\n\\r]*$`));
    if (path.trim().length > 1) expect(message, 'a path may be the secret itself').not.toContain(path.trim());
  }
  for (const content of CONTENTS[name] ?? []) expectRefusal(name, content, { [name]: await fileOf(content) });
});

test.each<[string, Environment]>([
  ['SIGN_IN_LOG_DAYS must be AUDIT_LOG_DAYS at most', { SIGN_IN_LOG_DAYS: '91', AUDIT_LOG_DAYS: '90' }],
  [
    'WEBHOOK_RETRY_SCHEDULE must end within WEBHOOK_LOG_DAYS and 4 more days',
    { WEBHOOK_LOG_DAYS: '1', WEBHOOK_RETRY_SCHEDULE: '432001' },
  ],
  [
    'CONSOLE_URL must have another host or port than PUBLIC_URL',
    { CONSOLE_URL: 'https://a.test', PUBLIC_URL: 'https://a.test/x' },
  ],
  ['PASSKEY_RP_ID must not be a top-level domain', { PASSKEY_RP_ID: 'test', PUBLIC_URL: 'https://a.test' }],
  ['SINGLE_SIGN_ON_MAX_AGE must be 0, or 15m to 365d, such as 12h', { SINGLE_SIGN_ON_MAX_AGE: '1m' }],
  [
    'MAIL_FROM must be an e-mail address, such as login@example.com',
    { MAIL_FROM: 'x\r\nBcc: a@b.test', SMTP_URL: 'smtp://a.test' },
  ],
  ['LOGIN_METHODS must not name email twice', { LOGIN_METHODS: 'email, wallet, email' }],
])('%s', (problem, env) => {
  expect(problemsOf(env)).toBe(`Invalid settings: ${problem}`);
});

test.each([
  'login@example.com',
  'Usher <login@example.com>',
  '"Usher, Inc." <login@example.com>',
  'jörg@bücher.example',
  'usher@localhost',
])('MAIL_FROM may be %s', (from) => {
  expect(problemsOf({ MAIL_FROM: from, SMTP_URL: 'smtps://u:p%23@mail.test:465/?name=usher.example.com' })).toBe('');
});
