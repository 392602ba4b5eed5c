/** `check`: each failure that an operator may have caused is planted, found, and named with its setting. */
import { randomBytes } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CheckOverrides, renderFindings, runChecks } from '../../../src/check/run-checks.ts';
import { readSettingFile } from '../../../src/config/files.ts';
import { generateAuthSigningKeys, generateOidcSigningKeys } from '../../../src/config/signing-keys.ts';
import type { Finding } from '../../../src/modules/check.ts';
import { readFullConfig } from '../../../src/modules/modules.ts';
import { withDatabase } from '../../../src/testing/on-server.ts';
import { cloneDatabase, createDatabase, type TestDatabase, withServer } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { dumpTables } from '../../support/dump.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { findFreePort } from '../../support/free-port.ts';
import { MailServer } from '../../support/mail-server.ts';
import { type ProxyMistakes, startProxy } from '../../support/proxy.ts';
import {
  createSecretFiles,
  createTenant,
  createTestWebhook,
  startTestService,
  TEST_ENV,
  type TestService,
} from '../../support/service.ts';

type Env = Record<string, string>;

/** What a case changes. */
interface Planted {
  readonly env?: Env;
  readonly overrides?: CheckOverrides;
}

const stack = new AsyncDisposableStack();
let [env, directory]: [Env, string] = [{}, ''];
let database: TestDatabase;

const DNS: Readonly<Record<string, string>> = {
  'login.example.com': 'v=spf1 include:mail.example.com -all',
  'key._domainkey.login.example.com': 'v=DKIM1; p=',
  '_dmarc.example.com': 'v=DMARC1; p=reject',
};

/** Answers as DNS does: a name above another one exists without records. */
function answerDns(records: Readonly<Record<string, string | undefined>>) {
  return async (name: string): Promise<string[][]> => {
    const text = records[name];
    if (text !== undefined) return [[text.slice(0, 5), text.slice(5)]];
    const isAbove = Object.keys(records).some((other) => records[other] !== undefined && other.endsWith(`.${name}`));
    throw Object.assign(new Error('queryTxt'), { code: isAbove ? 'ENODATA' : 'ENOTFOUND' });
  };
}

beforeAll(async () => {
  database = stack.use(await cloneDatabase());
  directory = await createDirectory();
  const mailServer = stack.use(await MailServer.start());
  env = await writeFiles({
    ...createSecretFiles(),
    'oidc-keys': generateOidcSigningKeys(),
    providers: JSON.stringify([await provider(stack.use(await FakeProvider.start()))]),
  });
  env = {
    ...TEST_ENV,
    ...env,
    DATABASE_URL: database.url,
    PORT: String(await findFreePort()),
    MIGRATE_ON_START: 'false',
    SMTP_URL: mailServer.url,
    MAIL_FROM: 'Usher <codes@login.example.com>',
    WEBHOOK_DELIVERY: 'false',
  };
  env.PUBLIC_URL = `http://localhost:${env.PORT}`;
  const service = await startService();
  const tenant = await createTenant(service);
  await createTestWebhook(service, tenant);
});

afterAll(() => stack.disposeAsync());

async function startService(changed: Env = {}): Promise<TestService> {
  return stack.use(await startTestService({ database, like: readFullConfig({ ...env, ...changed }, readSettingFile) }));
}

/** Starts one that believes what a proxy on this machine says. Returns its port. */
async function startTrusting(): Promise<string> {
  const at = String(await findFreePort());
  await startService({ PORT: at, TRUSTED_PROXIES: '127.0.0.1' });
  return at;
}

const NAMES: Readonly<Record<string, string>> = {
  'signing-keys': 'AUTH_SIGNING_KEYS_FILE',
  'encryption-key': 'ENCRYPTION_KEY_FILE',
  'oidc-keys': 'OIDC_SIGNING_KEYS_FILE',
  providers: 'LOGIN_PROVIDERS_FILE',
};

/** Writes the files, and returns the settings that name them. */
async function writeFiles(files: Readonly<Record<string, string>>): Promise<Env> {
  const written: Env = {};
  for (const [name, text] of Object.entries(files)) {
    const file = join(directory, `${name}-${randomBytes(4).toString('hex')}`);
    await writeFile(file, text, { mode: 0o600 });
    written[NAMES[name] ?? ''] = file;
  }
  return written;
}

async function provider({ origin }: FakeProvider) {
  return { id: 'fake', name: 'Fake', issuer: origin, clientId: 'usher', clientSecret: 'secret' };
}

function check({ env: changed, overrides }: Planted = {}): Promise<readonly Finding[]> {
  return runChecks({ ...env, ...changed }, { resolveTxt: answerDns(DNS) as never, ...overrides });
}

test('finds nothing wrong with a service that is well, and changes nothing', async () => {
  const before = await dumpTables(database);
  const findings = await check();
  expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
  expect(findings.map(({ check: name }) => name)).toEqual([
    ...['settings', 'files', 'database', 'clock', 'migrations', 'rights', 'stored secrets', 'keys of auth tokens'],
    ...['public URL', 'scheme', 'host', 'client address', 'request body', 'request head', 'gRPC', 'stream'],
    ...['mail server', 'SPF', 'DKIM', 'DMARC', 'keys of OpenID Connect', 'passkeys', 'providers'],
  ]);
  expect(await dumpTables(database)).toEqual(before);
});

/** A free port at which nobody listens. */
async function nowhere(): Promise<string> {
  return `127.0.0.1:${await findFreePort()}`;
}

const CASES: readonly (readonly [
  title: string,
  level: Finding['level'],
  check: string,
  setting: string,
  text: RegExp,
  plant: (stack: AsyncDisposableStack) => Promise<Planted>,
])[] = [
  ['a wrong setting', 'failure', 'settings', 'PORT', /must be/, async () => ({ env: { PORT: 'http' } })],
  [
    'a misspelt setting',
    'warning',
    'settings',
    'SESION_MAX_AGE',
    /Write SESSION_MAX_AGE/,
    async () => ({ env: { SESION_MAX_AGE: '1h' } }),
  ],
  [
    'a setting of an earlier version',
    'warning',
    'settings',
    'WORKERS',
    /no effect any more/,
    async () => ({ env: { WORKERS: '2' } }),
  ],
  ['no PUBLIC_URL', 'warning', 'settings', 'PUBLIC_URL', /not set/, async () => ({ env: { PUBLIC_URL: '' } })],
  [
    'a key that everybody can read',
    'warning',
    'files',
    'ENCRYPTION_KEY_FILE',
    /mode 644/,
    async () => {
      const { ENCRYPTION_KEY_FILE: file = '' } = await writeFiles({
        'encryption-key': readSettingFile(env.ENCRYPTION_KEY_FILE ?? ''),
      });
      await chmod(file, 0o644);
      return { env: { ENCRYPTION_KEY_FILE: file } };
    },
  ],
  [
    'a database that is down',
    'failure',
    'database',
    'DATABASE_URL',
    /ECONNREFUSED/,
    async () => ({ env: { DATABASE_URL: `postgres://usher@${await nowhere()}/usher` } }),
  ],
  [
    'a database that does not exist',
    'failure',
    'database',
    'DATABASE_URL',
    /Create it/,
    async () => ({ env: { DATABASE_URL: withDatabase(database.url, 'nothing') } }),
  ],
  [
    'a database with another encoding',
    'failure',
    'database',
    'DATABASE_URL',
    /encoding is LATIN1/,
    async (used) => {
      const latin = used.use(await createDatabase("encoding 'LATIN1' locale 'C' template template0"));
      return { env: { DATABASE_URL: latin.url } };
    },
  ],
  [
    'a role without rights',
    'failure',
    'rights',
    'DATABASE_URL',
    /lacks DELETE on added_users, INSERT on added_users, UPDATE on added_users and \d+ more/,
    async (used) => {
      const role = `reader_${randomBytes(4).toString('hex')}`;
      await withServer((sql) => sql.unsafe(`create role ${role} login`));
      await database.sql.unsafe(
        `grant usage on schema usher to ${role}; grant select on all tables in schema usher to ${role}`,
      );
      used.defer(async () => {
        await database.sql.unsafe(
          `revoke all on all tables in schema usher from ${role}; revoke all on schema usher from ${role}`,
        );
        await withServer((sql) => sql.unsafe(`drop role ${role}`));
      });
      return { env: { DATABASE_URL: Object.assign(new URL(database.url), { username: role }).href } };
    },
  ],
  [
    'a clock that is 10 s ahead',
    'failure',
    'clock',
    'DATABASE_URL',
    // Less what the way to Postgres takes.
    /(9\.\d|10\.0) s ahead of that of Postgres/,
    async () => ({ overrides: { systemClock: () => Date.now() + 10_000 } }),
  ],
  [
    'migrations that nobody has applied',
    'failure',
    'migrations',
    'MIGRATE_ON_START',
    /are pending/,
    async (used) => ({ env: { DATABASE_URL: used.use(await createDatabase('')).url } }),
  ],
  [
    'a later version before',
    'warning',
    'migrations',
    'DATABASE_URL',
    /later version/,
    async (used) => {
      const later = used.use(await cloneDatabase());
      await later.sql`insert into usher_migrations (hash, created_at) values ('later', 9e12)`;
      return { env: { DATABASE_URL: later.url } };
    },
  ],
  [
    'an encryption key that decrypts nothing',
    'failure',
    'stored secrets',
    'ENCRYPTION_KEY_FILE',
    /1 of 1 in webhooks cannot be decrypted: the key with ID [0-9a-f]{8} is missing/,
    async () => ({ env: await writeFiles({ 'encryption-key': randomBytes(32).toString('base64') }) }),
  ],
  [
    'another file of signing keys than the service has',
    'failure',
    'keys of auth tokens',
    'AUTH_SIGNING_KEYS_FILE',
    /publishes test-key, and the file has/,
    async () => ({ env: await writeFiles({ 'signing-keys': generateAuthSigningKeys() }) }),
  ],
  [
    'another file of keys of OpenID Connect than the service has',
    'failure',
    'keys of OpenID Connect',
    'OIDC_SIGNING_KEYS_FILE',
    /\/oidc\/jwks publishes/,
    async () => ({ env: await writeFiles({ 'oidc-keys': generateOidcSigningKeys() }) }),
  ],
  [
    'a port that something takes',
    'failure',
    'ports',
    'PORT',
    /EADDRINUSE/,
    async (used) => {
      const silent = used.use(await MailServer.start());
      return { env: { PORT: String(silent.port) } };
    },
  ],
  behind('a PUBLIC_URL of another server', 'failure', 'public URL', 'PUBLIC_URL', /answers 404/, {
    answer: { status: 404 },
  }),
  behind('a PUBLIC_URL that redirects', 'failure', 'public URL', 'PUBLIC_URL', /redirects to https:\/\/usher\.test/, {
    answer: { status: 308, headers: { location: 'https://usher.test/self-check' } },
  }),
  [
    'a PUBLIC_URL at which nobody listens',
    'failure',
    'public URL',
    'PUBLIC_URL',
    /ECONNREFUSED/,
    async () => ({ env: { PUBLIC_URL: `http://${await nowhere()}` } }),
  ],
  [
    'a service that does not run',
    'warning',
    'public URL',
    'PUBLIC_URL',
    /Start it/,
    async () => {
      const at = await nowhere();
      return { env: { PUBLIC_URL: `http://${at}`, PORT: at.split(':')[1] ?? '' } };
    },
  ],
  behind('a proxy that changes the host', 'warning', 'host', 'PUBLIC_URL', /the host usher:8080 instead/, {
    host: 'usher:8080',
  }),
  behind('a proxy that tells another scheme', 'warning', 'scheme', 'PUBLIC_URL', /callers use https/, {
    forwardedProto: 'https',
  }),
  behind(
    'a proxy that does not say who calls',
    'warning',
    'client address',
    'TRUSTED_PROXIES',
    /sends no X-Forwarded-For/,
    {
      forwardedFor: 'none',
    },
  ),
  behind('a proxy that is not trusted', 'warning', 'client address', 'TRUSTED_PROXIES', /Add 127\.0\.0\.1/, {}),
  [
    'a proxy that callers can forge',
    'failure',
    'client address',
    'TRUSTED_PROXIES',
    /passes X-Forwarded-For/,
    async (used) => {
      const PORT = await startTrusting();
      const proxy = used.use(await startProxy(Number(PORT), { forwardedFor: 'as it is' }));
      return { env: { PORT, PUBLIC_URL: proxy.url } };
    },
  ],
  [
    'callers who are trusted as a proxy would be',
    'warning',
    'client address',
    'TRUSTED_PROXIES',
    /callers at 127\.0\.0\.1 may claim any address/,
    async () => {
      const PORT = await startTrusting();
      return { env: { PORT, PUBLIC_URL: `http://127.0.0.1:${PORT}` } };
    },
  ],
  behind('a proxy without HTTP/2', 'warning', 'gRPC', 'PUBLIC_URL', /must speak HTTP\/2/, {}),
  behind('a proxy that buffers', 'warning', 'stream', 'PUBLIC_URL', /keeps it back/, { isBuffering: true }),
  behind('a proxy that takes small bodies', 'warning', 'request body', 'PUBLIC_URL', /64 KiB does not arrive/, {
    maxBodyBytes: 10_000,
  }),
  behind('a proxy that takes small heads', 'warning', 'request head', 'PUBLIC_URL', /12 KiB does not arrive/, {
    maxHeaderSize: 8_192,
  }),
  [
    'a mail server that is down',
    'failure',
    'mail server',
    'SMTP_URL',
    /ECONNREFUSED/,
    async () => ({ env: { SMTP_URL: `smtp://${await nowhere()}` } }),
  ],
  [
    'a wrong password of the mail server',
    'failure',
    'mail server',
    'SMTP_URL',
    /EAUTH|Invalid/,
    async (used) => {
      const strict = used.use(
        await MailServer.start({ authOptional: false, onAuth: (_, __, done) => done(new Error('Invalid login')) }),
      );
      return { env: { SMTP_URL: `smtp://ada:wrong@127.0.0.1:${strict.port}` } };
    },
  ],
  ...(
    [
      ['SPF', 'login.example.com', undefined, /has no SPF record/],
      ['SPF', 'login.example.com', 'v=spf1 +all', /lets every machine send/],
      ['SPF', 'login.example.com', 'v=spf10 -all', /has no SPF record/],
      ['DKIM', 'key._domainkey.login.example.com', undefined, /no key of DKIM/],
      ['DMARC', '_dmarc.example.com', undefined, /no policy of DMARC/],
    ] as const
  ).map(
    ([name, record, text, expected]) =>
      [
        `no good ${name}: ${text}`,
        'warning',
        name,
        'MAIL_FROM',
        expected,
        async () => ({ overrides: { resolveTxt: answerDns({ ...DNS, [record]: text }) as never } }),
      ] as const,
  ),
  [
    'a DNS that does not answer',
    'failure',
    'SPF',
    'MAIL_FROM',
    /ESERVFAIL/,
    async () => ({
      overrides: { resolveTxt: async () => Promise.reject(Object.assign(new Error(), { code: 'ESERVFAIL' })) },
    }),
  ],
  [
    'a provider that does not answer',
    'failure',
    'providers',
    'LOGIN_PROVIDERS_FILE',
    /Fake cannot be used: ECONNREFUSED/,
    async () => {
      const issuer = `http://${await nowhere()}`;
      const down = { id: 'fake', name: 'Fake', issuer, clientId: 'usher', clientSecret: 'secret' };
      return { env: await writeFiles({ providers: JSON.stringify([down]) }) };
    },
  ],
  [
    'a host that passkeys do not belong to',
    'failure',
    'passkeys',
    'PASSKEY_RP_ID',
    /belong to usher\.test/,
    async (used) => {
      const moved = used.use(await cloneDatabase());
      await moved.sql`
        insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
          is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
        values (gen_random_uuid(), gen_random_uuid(), 'a', 'usher.test', 'a', 0, '{}', gen_random_uuid(),
          false, false, true, 'Key', now())`;
      return { env: { DATABASE_URL: moved.url } };
    },
  ],
  [
    'a proxy of webhooks that is down',
    'failure',
    'webhook proxy',
    'WEBHOOK_PROXY_URL',
    /ECONNREFUSED/,
    async () => ({ env: { WEBHOOK_PROXY_URL: `http://${await nowhere()}` } }),
  ],
];

/** A case with a proxy before the service. */
function behind(
  title: string,
  level: Finding['level'],
  name: string,
  setting: string,
  text: RegExp,
  mistakes: ProxyMistakes,
): (typeof CASES)[number] {
  return [
    title,
    level,
    name,
    setting,
    text,
    async (used) => ({ env: { PUBLIC_URL: used.use(await startProxy(Number(env.PORT), mistakes)).url } }),
  ];
}

describe('finds, and names with its setting', () => {
  test.for(CASES)('%s', async ([, level, name, setting, text, plant]) => {
    await using used = new AsyncDisposableStack();
    const findings = await check(await plant(used));
    const found = findings.filter((finding) => finding.check === name && finding.level === level);
    expect(found, JSON.stringify(findings)).toHaveLength(1);
    const [{ what, why, settings }] = found as [Finding];
    expect(`${what}. ${why}`).toMatch(text);
    expect(settings).toContain(setting);
    expect(why?.length ?? 0).toBeGreaterThan(10);
  });
});

test('says that a machine in TRUSTED_PROXIES cannot tell what a proxy does for others', async () => {
  const PORT = await startTrusting();
  await using proxy = await startProxy(Number(PORT));
  const findings = await check({ env: { PORT, PUBLIC_URL: proxy.url } });
  expect(findings.find((finding) => finding.check === 'client address')).toMatchObject({
    level: 'ok',
    what: 'this machine is in TRUSTED_PROXIES itself, so it cannot tell. It is seen as 127.0.0.1',
  });
});

const OK: Finding = { level: 'ok', check: 'host', what: 'well', settings: ['PUBLIC_URL'] };
const WARNING: Finding = { level: 'warning', check: 'SPF', what: 'bad\nline', why: 'Why', settings: ['MAIL_FROM'] };
const FAILURE: Finding = { ...WARNING, level: 'failure', settings: ['HOST', 'PORT'] };

test.each([
  [[OK], 0, ['ok       host: well', '0 failures, 0 warnings, 1 ok', '']],
  [
    [OK, WARNING],
    2,
    ['ok       host: well', 'warning  SPF: bad line. Why [MAIL_FROM]', '0 failures, 1 warnings, 1 ok', ''],
  ],
  [[WARNING, FAILURE], 1, [expect.anything(), 'failure  SPF: bad line. Why [HOST, PORT]', expect.anything(), '']],
])('writes a line for each finding, and exits with the worst: %j', (findings, exitCode, lines) => {
  const report = renderFindings(findings, { asJson: false });
  expect(report).toEqual({ exitCode, text: expect.any(String) });
  expect(report.text.split('\n')).toEqual(lines);
  const json = renderFindings(findings, { asJson: true });
  expect(json.exitCode).toBe(exitCode);
  expect(JSON.parse(json.text).findings).toEqual(findings);
});
